"""Drawn scenes: the same pixels from the same seed, and training apart from held-out ones."""

import numpy as np
import pytest

from cenote_builtin.scenes.scenes import (
    ASPECTS,
    COLORS,
    HELD_OUT_EVERY,
    Scene,
    SceneObject,
    draw,
    is_held_out,
    meaning,
    random_scene,
    sample_scene,
)

RED_CIRCLE = SceneObject(cell=0, shape="circle", color="red", large=True)
BLUE_STAR = SceneObject(cell=4, shape="star", color="blue", large=False)
PAIR = Scene((RED_CIRCLE, BLUE_STAR), look=7)


def test_the_same_generator_state_gives_the_same_scene() -> None:
    assert random_scene(np.random.default_rng(3)) == random_scene(np.random.default_rng(3))


def test_the_same_scene_gives_the_same_pixels() -> None:
    assert draw(PAIR, 96).tobytes() == draw(PAIR, 96).tobytes()
    assert draw(PAIR, 96).size == (96, 96)
    assert draw(PAIR, 96).mode == "RGB"


def test_the_look_changes_pixels_but_no_meaning() -> None:
    other = Scene(PAIR.objects, look=8)
    assert draw(PAIR, 96).tobytes() != draw(other, 96).tobytes()
    assert all(meaning(PAIR, aspect) == meaning(other, aspect) for aspect in ASPECTS)


def test_meaning_names_exactly_what_the_aspect_asks_for() -> None:
    assert meaning(PAIR, "colors") == frozenset({"red", "blue"})
    assert meaning(PAIR, "shapes") == frozenset({"circle", "star"})
    assert meaning(PAIR, "count") == 2
    assert meaning(PAIR, "positions") == frozenset({0, 4})
    assert meaning(PAIR, "whole") == (RED_CIRCLE, BLUE_STAR)


@pytest.mark.parametrize(
    ("change", "changed"),
    [
        ({"color": "green"}, {"whole", "colors"}),
        ({"shape": "ring"}, {"whole", "shapes"}),
        ({"cell": 8}, {"whole", "positions"}),
        ({"large": True}, {"whole"}),
    ],
)
def test_a_change_of_one_property_changes_only_its_aspect_and_the_whole(change: dict, changed: set) -> None:
    star = {"cell": 4, "shape": "star", "color": "blue", "large": False} | change
    other = Scene((RED_CIRCLE, SceneObject(**star)), look=7)
    assert {aspect for aspect in ASPECTS if meaning(other, aspect) != meaning(PAIR, aspect)} == changed


def test_objects_stand_in_distinct_cells_sorted() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        cells = [thing.cell for thing in random_scene(rng).objects]
        assert cells == sorted(set(cells))
        assert 1 <= len(cells) <= 4


def test_an_object_is_painted_in_its_color_in_its_cell() -> None:
    rng = np.random.default_rng(1)
    for color, rgb in COLORS.items():
        for cell in (0, 4, 8):
            thing = SceneObject(cell=cell, shape="square", color=color, large=True)
            pixels = np.asarray(draw(Scene((thing,), look=int(rng.integers(1000))), 96)).astype(int)
            row, column = divmod(cell, 3)
            middle = pixels[row * 32 + 12 : row * 32 + 20, column * 32 + 12 : column * 32 + 20].mean(axis=(0, 1))
            assert np.abs(middle - rgb).max() < 20, (color, cell, middle)


def test_training_and_held_out_scenes_never_share_a_whole_key() -> None:
    rng = np.random.default_rng(2)
    training = {meaning(sample_scene(rng, held_out=False), "whole") for _ in range(2000)}
    held_out = {meaning(sample_scene(rng, held_out=True), "whole") for _ in range(500)}
    assert not training & held_out


def test_the_split_rests_on_the_objects_alone_and_holds_out_one_in_ten() -> None:
    rng = np.random.default_rng(4)
    scenes = [random_scene(rng) for _ in range(3000)]
    assert all(is_held_out(scene) == is_held_out(Scene(scene.objects, look=1)) for scene in scenes[:200])
    assert abs(np.mean([is_held_out(scene) for scene in scenes]) - 1 / HELD_OUT_EVERY) < 0.03
