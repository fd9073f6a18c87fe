"""Captions of a scene under one aspect, in many wordings that all carry the same meaning key.

All wordings are drawn from a seeded generator.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from cenote_builtin.scenes.scenes import COLORS, SHAPES, Aspect, Scene, SceneObject

COLOR_WORDS: Final = {name: (name,) for name in COLORS} | {
    "cyan": ("cyan", "turquoise"),
    "purple": ("purple", "violet"),
}
SHAPE_WORDS: Final = {name: (name,) for name in SHAPES} | {
    "circle": ("circle", "disc"),
    "cross": ("cross", "plus"),
}
SIZE_WORDS: Final = {True: ("large", "big"), False: ("small", "little")}
NUMBER_WORDS: Final = {1: "one", 2: "two", 3: "three", 4: "four"}
CELL_WORDS: Final = (
    ("top left", "upper left"),
    ("top", "top center", "upper middle"),
    ("top right", "upper right"),
    ("left", "middle left"),
    ("center", "middle"),
    ("right", "middle right"),
    ("bottom left", "lower left"),
    ("bottom", "bottom center", "lower middle"),
    ("bottom right", "lower right"),
)
"""Words of each cell, 0..8 row by row."""

_COLORS: Final = (
    "{0}", "the colors {0}", "colors: {0}", "the color of the things is {0}", "everything is {0}", "{0} in color",
    "painted in {0}", "objects in {0}",
)  # fmt: skip
_SHAPES: Final = (
    "{0}", "the shapes are {0}", "shapes: {0}", "a picture with {0}", "there is {0}", "an image made of {0}",
    "the shape of the things: {0}", "it shows {0}",
)  # fmt: skip
_COUNT: Final = (
    "{0} {1}", "there {2} {0} {1}", "exactly {0} {1}", "the number of {3} is {0}", "{0}", "count: {0}",
    "a picture with {0} {1}", "{0} {1} in all",
)  # fmt: skip
_POSITIONS: Final = (
    "{0}", "objects at the {0}", "something at the {0}", "positions: {0}", "placed at the {0}",
    "things in the {0} of the picture", "the {0} of the image is filled", "occupied: {0}",
)  # fmt: skip
_WHOLE: Final = (
    "{0}",
    "a picture of {0}",
    "an image with {0}",
    "there is {0}",
    "the scene shows {0}",
    "{0} on a plain background",
)
_PLACED: Final = ("{thing} at the {cell}", "{thing} in the {cell}", "{thing} ({cell})", "at the {cell} {thing}")


def pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    """One of the options, each equally likely."""
    return options[int(rng.integers(len(options)))]


def _shuffled(rng: np.random.Generator, words: list[str]) -> list[str]:
    return [words[int(index)] for index in rng.permutation(len(words))]


def joined(rng: np.random.Generator, words: list[str]) -> str:
    """The words in random order as one list: with commas, with `and`, or both."""
    words = _shuffled(rng, words)
    if len(words) == 1:
        return words[0]
    match int(rng.integers(3)):
        case 0:
            return ", ".join(words)
        case 1:
            return " and ".join(words)
        case _:
            return ", ".join(words[:-1]) + " and " + words[-1]


def _thing(rng: np.random.Generator, thing: SceneObject) -> str:
    size, color = pick(rng, SIZE_WORDS[thing.large]), pick(rng, COLOR_WORDS[thing.color])
    article = pick(rng, ("a ", "one ", ""))
    return f"{article}{size} {color} {pick(rng, SHAPE_WORDS[thing.shape])}"


def _whole(scene: Scene, rng: np.random.Generator) -> str:
    placed = pick(rng, _PLACED)
    things = [
        placed.format(thing=_thing(rng, thing), cell=pick(rng, CELL_WORDS[thing.cell])) for thing in scene.objects
    ]
    return pick(rng, _WHOLE).format(joined(rng, things))


def _colors(scene: Scene, rng: np.random.Generator) -> str:
    names = sorted({thing.color for thing in scene.objects})
    return pick(rng, _COLORS).format(joined(rng, [pick(rng, COLOR_WORDS[name]) for name in names]))


def _shapes(scene: Scene, rng: np.random.Generator) -> str:
    names = sorted({thing.shape for thing in scene.objects})
    article = pick(rng, ("a ", ""))
    return pick(rng, _SHAPES).format(joined(rng, [article + pick(rng, SHAPE_WORDS[name]) for name in names]))


def _count(scene: Scene, rng: np.random.Generator) -> str:
    count = len(scene.objects)
    plural = pick(rng, ("objects", "things", "shapes", "items"))
    number = NUMBER_WORDS[count] if rng.random() < 0.75 else str(count)
    noun, verb = (plural[:-1], "is") if count == 1 else (plural, "are")
    return pick(rng, _COUNT).format(number, noun, verb, plural)


def _positions(scene: Scene, rng: np.random.Generator) -> str:
    return pick(rng, _POSITIONS).format(joined(rng, [pick(rng, CELL_WORDS[thing.cell]) for thing in scene.objects]))


_WRITERS: Final[dict[Aspect, Callable[[Scene, np.random.Generator], str]]] = {
    "whole": _whole,
    "colors": _colors,
    "shapes": _shapes,
    "count": _count,
    "positions": _positions,
}


def caption(scene: Scene, aspect: Aspect, rng: np.random.Generator) -> str:
    """One wording, drawn at random, of what the scene says under the aspect, and of nothing else."""
    return _WRITERS[aspect](scene, rng)
