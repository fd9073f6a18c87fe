"""Captions of drawn scenes: each says what its aspect asks for, and no more."""

import re

import numpy as np
import pytest

from cenote_builtin.scenes import instructions
from cenote_builtin.scenes.captions import CELL_WORDS, COLOR_WORDS, NUMBER_WORDS, SHAPE_WORDS, SIZE_WORDS, caption
from cenote_builtin.scenes.scenes import ASPECTS, Scene, random_scene

NUM_SCENES = 300


def scenes_with_captions(aspect: str) -> list[tuple[Scene, str]]:
    rng = np.random.default_rng(5)
    return [(scene, caption(scene, aspect, rng)) for scene in (random_scene(rng) for _ in range(NUM_SCENES))]


def named(text: str, words_of: dict[str, tuple[str, ...]]) -> list[str]:
    return [name for name, words in words_of.items() for _ in re.findall(rf"\b({'|'.join(words)})\b", text)]


def cells_named(text: str) -> list[int]:
    """Cells in a caption; the longest words go first, so that `top left` is neither `top` nor `left`."""
    words = sorted(((word, cell) for cell, words in enumerate(CELL_WORDS) for word in words), key=lambda x: -len(x[0]))
    by_word = dict(words)
    return [by_word[found] for found in re.findall(rf"\b({'|'.join(by_word)})\b", text)]


def test_a_colors_caption_names_the_scenes_colors_and_no_others() -> None:
    for scene, text in scenes_with_captions("colors"):
        assert sorted(named(text, COLOR_WORDS)) == sorted({thing.color for thing in scene.objects}), text


def test_a_shapes_caption_names_the_scenes_shapes_and_no_others() -> None:
    for scene, text in scenes_with_captions("shapes"):
        assert sorted(named(text, SHAPE_WORDS)) == sorted({thing.shape for thing in scene.objects}), text


def test_a_count_caption_names_the_count_and_no_other() -> None:
    for scene, text in scenes_with_captions("count"):
        numbers = [count for count, word in NUMBER_WORDS.items() if re.search(rf"\b({word}|{count})\b", text)]
        assert numbers == [len(scene.objects)], text


def test_a_positions_caption_names_the_occupied_cells_and_no_others() -> None:
    for scene, text in scenes_with_captions("positions"):
        assert sorted(cells_named(text)) == [thing.cell for thing in scene.objects], text


def test_a_whole_caption_names_every_property_of_every_object() -> None:
    sizes = {str(large): words for large, words in SIZE_WORDS.items()}
    for scene, text in scenes_with_captions("whole"):
        assert sorted(named(text, COLOR_WORDS)) == sorted(thing.color for thing in scene.objects), text
        assert sorted(named(text, SHAPE_WORDS)) == sorted(thing.shape for thing in scene.objects), text
        assert sorted(named(text, sizes)) == sorted(str(thing.large) for thing in scene.objects), text
        assert sorted(cells_named(text)) == [thing.cell for thing in scene.objects], text


@pytest.mark.parametrize("aspect", ["colors", "shapes", "count", "positions"])
def test_a_caption_of_one_aspect_says_nothing_of_the_others(aspect: str) -> None:
    text = " ".join(text for _, text in scenes_with_captions(aspect))
    assert aspect == "colors" or not named(text, COLOR_WORDS)
    assert aspect == "shapes" or not named(text, SHAPE_WORDS)
    assert not re.search(r"\b(large|big|small|little)\b", text)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_one_scene_has_many_wordings(aspect: str) -> None:
    rng = np.random.default_rng(6)
    scene = random_scene(rng)
    assert len({caption(scene, aspect, rng) for _ in range(100)}) >= 15


def test_no_instruction_stands_for_two_aspects_and_unseen_ones_are_unseen() -> None:
    trained = [instructions.CANONICAL[aspect] for aspect in ASPECTS]
    trained += [wording for aspect in ASPECTS for wording in instructions.PARAPHRASES[aspect]]
    unseen = [wording for aspect in ASPECTS for wording in instructions.UNSEEN[aspect]]
    assert len(set(trained + unseen)) == len(trained) + len(unseen)
    assert instructions.QUERY not in trained
