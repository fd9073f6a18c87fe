"""The training loss and its targets, written out by hand."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from cenote_builtin.scenes.batches import NUM_ATTRIBUTES, attributes, cell_attributes
from cenote_builtin.scenes.scenes import ASPECTS, meaning, random_scene
from cenote_builtin.training.objective import attribute_loss, cell_weights, matryoshka_info_nce


def test_the_loss_is_info_nce_written_out_for_one_length() -> None:
    torch.manual_seed(0)
    queries, captions = torch.randn(4, 8), torch.randn(4, 8)
    cosines = functional.normalize(queries[:, :3]) @ functional.normalize(captions[:, :3]).T * 5
    rows = -torch.log_softmax(cosines, dim=1).diagonal().mean()
    columns = -torch.log_softmax(cosines, dim=0).diagonal().mean()
    loss = matryoshka_info_nce(queries, captions, torch.arange(4), torch.tensor(5.0), [3])
    torch.testing.assert_close(loss, (rows + columns) / 2)


def test_a_caption_that_means_the_same_is_no_negative() -> None:
    same = torch.ones(2, 4)
    scale = torch.tensor(10.0)
    assert matryoshka_info_nce(same, same, torch.tensor([7, 7]), scale, [4]) == pytest.approx(0, abs=1e-6)
    assert matryoshka_info_nce(same, same, torch.tensor([7, 8]), scale, [4]) == pytest.approx(math.log(2), abs=1e-6)


def test_attributes_that_are_not_asked_about_cost_nothing() -> None:
    asked = torch.tensor([[True, False, False]])
    right, wrong = torch.tensor([[9.0, 5.0, -5.0]]), torch.tensor([[9.0, -5.0, 5.0]])
    targets = torch.tensor([[1.0, 0.0, 1.0]])
    assert attribute_loss(right, targets, asked) == attribute_loss(wrong, targets, asked)


def test_asked_attributes_differ_exactly_where_meanings_differ() -> None:
    rng = np.random.default_rng(8)
    scenes = [random_scene(rng, max_objects=2) for _ in range(60)]
    for aspect in ASPECTS:
        rows = {
            meaning(scene, aspect): (attributes(scene, aspect)[0] * attributes(scene, aspect)[1]) for scene in scenes
        }
        assert len({row.tobytes() for row in rows.values()}) == len(rows)
        assert all(len(row) == NUM_ATTRIBUTES for row in rows.values())


def test_a_cell_has_color_shape_and_size_or_nothing() -> None:
    scene = random_scene(np.random.default_rng(9))
    occupied = {thing.cell for thing in scene.objects}
    assert [int(row.sum()) for row in cell_attributes(scene)] == [3 if cell in occupied else 0 for cell in range(9)]


@pytest.mark.parametrize("side", [3, 4, 5, 8])
def test_every_cell_is_a_mean_over_the_tokens_that_lie_in_it(side: int) -> None:
    weights = cell_weights(side)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(9))
    if side == 3:
        torch.testing.assert_close(weights, torch.eye(9))
