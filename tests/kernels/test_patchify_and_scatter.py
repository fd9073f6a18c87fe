"""Patches of still images, and features into the packed batch: the references against what the model does."""

import numpy as np
import pytest
import torch

from cenote_kernels import patchify, scatter
from service.model.qwen3_vl import qwen3_vl as with_frames


def image(height: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


@pytest.mark.parametrize("size", [(32, 32), (64, 96), (96, 320)])
def test_patches_are_the_towers_with_one_frame(size: tuple[int, int]) -> None:
    """The tower's patches hold each frame twice, within each channel."""
    pixels = image(*size)
    twice = with_frames.patchify(pixels).view(-1, 3, 2, 256)
    assert torch.equal(patchify(pixels).view(-1, 3, 256), twice[:, :, 0])
    assert torch.equal(patchify(pixels).view(-1, 3, 256), twice[:, :, 1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_patches_are_the_float32_ones_rounded_once(dtype: torch.dtype) -> None:
    pixels = image(64, 32)
    assert torch.equal(patchify(pixels, dtype), patchify(pixels).to(dtype))


@pytest.mark.parametrize("shape", [(33, 32, 3), (32, 48, 3), (32, 32, 4)])
def test_images_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected multiples of 32 and 3"):
        patchify(torch.zeros(shape, dtype=torch.uint8))


def test_features_replace_placeholders_and_leave_the_rest() -> None:
    target = torch.arange(12.0).view(6, 2)
    index, features = torch.tensor([1, 4]), torch.tensor([[-1.0, -2, 9, 9], [-3, -4, 9, 9]])
    out = scatter(target, index, features[:, :2])
    assert out is target
    assert target.tolist() == [[0, 1], [-1, -2], [4, 5], [6, 7], [-3, -4], [10, 11]]
    scatter(target, index, features[:, 2:], add=True)
    assert target.tolist() == [[0, 1], [8, 7], [4, 5], [6, 7], [6, 5], [10, 11]]


def test_features_take_the_dtype_of_the_batch() -> None:
    target = torch.zeros(2, 2, dtype=torch.bfloat16)
    assert scatter(target, torch.tensor([1]), torch.tensor([[1.001, 2.0]])).tolist() == [[0, 0], [1, 2]]


def test_axes_that_disagree_are_refused() -> None:
    with pytest.raises(ValueError, match="axis hidden is 4 and 3"):
        scatter(torch.zeros(5, 4), torch.tensor([1]), torch.zeros(1, 3))
