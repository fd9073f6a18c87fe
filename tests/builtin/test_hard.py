"""Hard scenes of the score card: where the wanted candidate stands."""

import json

import numpy as np

from cenote_builtin.scenes.variants import KINDS
from cenote_builtin.scoring.hard import ranks
from cenote_builtin.scoring.scorecard import CARDS


def test_a_rank_is_the_number_of_candidates_that_are_nearer() -> None:
    candidates = np.array([[1, 0], [1, 1], [0, 2], [-1, 0]], np.float32)
    queries = np.array([[2, 0.1], [2, 0.1], [-3, 0.1]], np.float32)
    assert ranks(queries, candidates, np.array([0, 2, 3])).tolist() == [0, 2, 0]


def test_the_card_has_every_kind_and_what_a_second_stage_could_reach() -> None:
    figures = json.loads((CARDS / "scorecard.json").read_text())["hard_scenes"]
    assert tuple(figures) == KINDS
    for found in figures.values():
        assert max(found["text_to_image"], found["image_to_text"]) <= found["among_first"]
