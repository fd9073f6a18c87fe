"""Hard scenes differ from their scene in one thing of their kind, and stay on its side of the split."""

import numpy as np
import pytest

from cenote_builtin.scenes.scenes import Aspect, Scene, is_held_out, meaning, sample_scene
from cenote_builtin.scenes.variants import KINDS, Kind, hard_family, variants

KEPT: dict[Kind, set[Aspect]] = {
    "colors": {"shapes", "count", "positions"},
    "shapes": {"colors", "count", "positions"},
    "count": set(),
    "positions": {"colors", "shapes", "count"},
    "sizes": {"colors", "shapes", "count", "positions"},
}
"""Aspects under which a change of this kind means the same."""


def families(kind: Kind) -> list[list[Scene]]:
    rng = np.random.default_rng(4)
    return [hard_family(kind, 3, rng, held_out=True) for _ in range(8)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_thing_of_the_kind_is_different(kind: Kind) -> None:
    for scene, *others in families(kind):
        for other in others:
            assert meaning(other, "whole") != meaning(scene, "whole")
            assert all(meaning(other, aspect) == meaning(scene, aspect) for aspect in KEPT[kind])
            assert list(other.objects) == sorted(other.objects, key=lambda thing: thing.cell)
            assert len({thing.cell for thing in other.objects}) == len(other.objects)
            if kind == "count":
                assert abs(len(other.objects) - len(scene.objects)) == 1
                assert len(set(other.objects) & set(scene.objects)) == min(len(other.objects), len(scene.objects))


@pytest.mark.parametrize("held_out", [False, True])
def test_variants_stay_on_the_side_of_the_split_that_was_asked_for(held_out: bool) -> None:
    rng = np.random.default_rng(5)
    scene = sample_scene(rng, held_out=held_out)
    found = [other for kind in KINDS for other in variants(scene, kind, rng, held_out=held_out)]
    assert found
    assert all(is_held_out(other) is held_out for other in found)


def test_colors_that_two_objects_exchange_are_the_same_set_of_colors() -> None:
    swapped = [
        other
        for scene, *_ in families("colors")
        for other in variants(scene, "colors", np.random.default_rng(6), held_out=True)
        if meaning(other, "colors") == meaning(scene, "colors") and len(scene.objects) == 2
    ]
    assert swapped


def test_the_same_generator_state_gives_the_same_family() -> None:
    assert families("positions") == families("positions")
