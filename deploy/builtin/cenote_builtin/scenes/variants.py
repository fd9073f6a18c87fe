"""Scenes that differ from a scene in one thing: what is easily taken for it, by kind of difference."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from cenote_builtin.scenes.scenes import (
    COLORS,
    MAX_OBJECTS,
    NUM_CELLS,
    SHAPES,
    Scene,
    SceneObject,
    is_held_out,
    sample_scene,
)

Kind: TypeAlias = Literal["colors", "shapes", "count", "positions", "sizes"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

Objects: TypeAlias = tuple[SceneObject, ...]


def _changed(objects: Objects, index: int, **properties: Any) -> Objects:
    things = list(objects)
    things[index] = replace(things[index], **properties)
    return tuple(things)


def _exchanged(objects: Objects, name: str) -> Iterator[Objects]:
    """Two objects with each other's property, where it differs."""
    for first, second in combinations(range(len(objects)), 2):
        one, other = getattr(objects[first], name), getattr(objects[second], name)
        if one != other:
            yield _changed(_changed(objects, first, **{name: other}), second, **{name: one})


def _colors(objects: Objects) -> Iterator[Objects]:
    yield from _exchanged(objects, "color")
    for index, thing in enumerate(objects):
        yield from (_changed(objects, index, color=color) for color in COLORS if color != thing.color)


def _shapes(objects: Objects) -> Iterator[Objects]:
    yield from _exchanged(objects, "shape")
    for index, thing in enumerate(objects):
        yield from (_changed(objects, index, shape=shape) for shape in SHAPES if shape != thing.shape)


def _count(objects: Objects) -> Iterator[Objects]:
    """One object less, or one more that looks like one of them."""
    if len(objects) > 1:
        yield from (objects[:index] + objects[index + 1 :] for index in range(len(objects)))
    if len(objects) < MAX_OBJECTS:
        free = set(range(NUM_CELLS)) - {thing.cell for thing in objects}
        yield from ((*objects, replace(thing, cell=cell)) for cell in sorted(free) for thing in objects)


def _positions(objects: Objects) -> Iterator[Objects]:
    """Two objects in each other's cell, one in another cell, or all mirrored from left to right."""
    yield from _exchanged(objects, "cell")
    free = sorted(set(range(NUM_CELLS)) - {thing.cell for thing in objects})
    for index in range(len(objects)):
        yield from (_changed(objects, index, cell=cell) for cell in free)
    yield tuple(replace(thing, cell=thing.cell + 2 - 2 * (thing.cell % 3)) for thing in objects)


def _sizes(objects: Objects) -> Iterator[Objects]:
    yield from (_changed(objects, index, large=not thing.large) for index, thing in enumerate(objects))


_CHANGES: Final[dict[Kind, Callable[[Objects], Iterator[Objects]]]] = {
    "colors": _colors,
    "shapes": _shapes,
    "count": _count,
    "positions": _positions,
    "sizes": _sizes,
}


def variants(scene: Scene, kind: Kind, rng: np.random.Generator, *, held_out: bool) -> list[Scene]:
    """All scenes of one side of the split that differ from `scene` in one thing of this kind, in random order.

    Each has a look of its own.
    """
    changed = {tuple(sorted(objects, key=lambda thing: thing.cell)) for objects in _CHANGES[kind](scene.objects)}
    others = [Scene(objects) for objects in sorted(changed - {scene.objects}, key=repr)]
    kept = [other for other in others if is_held_out(other) is held_out]
    return [replace(kept[int(index)], look=int(rng.integers(2**31))) for index in rng.permutation(len(kept))]


def hard_family(kind: Kind, num_others: int, rng: np.random.Generator, *, held_out: bool) -> list[Scene]:
    """A scene of two objects or more, and after it `num_others` that differ from it in one thing of this kind."""
    while True:
        scene = sample_scene(rng, held_out=held_out)
        others = variants(scene, kind, rng, held_out=held_out)[:num_others] if len(scene.objects) > 1 else []
        if len(others) == num_others:
            return [scene, *others]
