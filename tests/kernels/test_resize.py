"""Our resize against Pillow's, byte by byte. `CENOTE_RESIZE_SIZES=10000` tries more; `make check-gpu` does on a GPU."""

import os

import numpy as np
import pytest
import torch
from PIL import Image

from cenote_kernels.bicubic import taps
from cenote_kernels.resize import resize, vertical_first

NUM_SIZES = int(os.environ.get("CENOTE_RESIZE_SIZES", "300"))
LIMITS = (4, 40, 150, 300)
"""Longest side of a case, in turn: small sides meet the filter's edges more often."""


def pillow(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC))


def differing(pixels: np.ndarray, height: int, width: int) -> int:
    ours = resize(torch.from_numpy(pixels), height, width).numpy()
    return int((ours != pillow(pixels, height, width)).sum())


def test_no_byte_differs_from_pillow_over_random_sizes() -> None:
    rng = np.random.default_rng(20261121)
    wrong, orders = [], set()
    for case in range(NUM_SIZES):
        in_height, in_width, height, width = (int(rng.integers(1, rng.choice(LIMITS) + 1)) for _ in range(4))
        pixels = rng.integers(0, 256, (in_height, in_width, 3), dtype=np.uint8)
        if case % 3 == 0:  # black and white: sums leave 0..255 and are clipped
            pixels = (pixels > 127).astype(np.uint8) * 255
        orders.add(vertical_first(in_height, in_width, height, width))
        if differing(pixels, height, width):
            wrong.append((in_height, in_width, height, width))
    assert wrong == []
    assert orders == {False, True}


@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1, 1), (1, 1, 64, 64), (64, 64, 1, 1), (1, 5000, 32, 32), (5000, 1, 32, 32), (2, 3000, 3000, 2),
     (3000, 2, 2, 3000), (37, 53, 37, 53), (37, 53, 37, 10), (37, 53, 90, 53), (767, 1023, 768, 1024)],
)  # fmt: skip
def test_extreme_shapes_are_pillows_too(sizes: tuple[int, ...]) -> None:
    in_height, in_width, height, width = sizes
    pixels = np.random.default_rng(sum(sizes)).integers(0, 256, (in_height, in_width, 3), dtype=np.uint8)
    assert differing(pixels, height, width) == 0


def test_the_order_of_the_passes_shows_in_the_bytes() -> None:
    """Else the two tests above would not see it."""
    pixels = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (104, 30, 3), dtype=np.uint8))
    assert vertical_first(104, 30, 96, 65)
    turned = resize(resize(pixels, 104, 65), 96, 65)
    assert not torch.equal(turned, resize(pixels, 96, 65))


def test_weights_are_whole_and_add_up() -> None:
    for in_size, out_size in ((1, 1), (1, 9), (9, 1), (640, 480), (480, 640), (10_000, 3)):
        along = taps(in_size, out_size)
        assert (along.first >= 0).all()
        assert (along.first + along.count <= in_size).all()
        assert (np.abs(along.weights.sum(1) - (1 << 22)) <= along.count).all()  # each is off by half a unit at most
        behind = np.arange(along.weights.shape[1]) >= along.count[:, None]
        assert not along.weights[behind].any()


def test_what_is_not_pixels_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pixels is torch\.float32"):
        resize(torch.zeros(4, 4, 3), 2, 2)
