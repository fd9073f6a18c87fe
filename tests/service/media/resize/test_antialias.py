"""The resize of frames is torch's antialiased bicubic, every value of it."""

import numpy as np
import pytest
import torch
from PIL import Image

from service.media.resize import antialias
from service.media.resize.antialias import resize_antialiased

SIZES = [
    ((512, 640), (416, 512)),
    ((512, 640), (352, 448)),
    ((128, 192), (320, 448)),
    ((768, 1024), (416, 576)),
    ((512, 512), (256, 256)),
    ((64, 1920), (96, 1376)),
    ((960, 64), (544, 32)),
    ((64, 192), (64, 320)),
]


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (height, width, 3), dtype=np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    return np.asarray(Image.fromarray(noise(8, 8)).resize((width, height), Image.Resampling.BICUBIC))


def edges(height: int, width: int) -> np.ndarray:
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2] = 255
    pixels[height // 3 :] ^= 128
    return pixels


def in_torch(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """As torchvision's `resize` on uint8: float32, interpolate, clamp, round."""
    frames = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].contiguous().float()
    found = torch.nn.functional.interpolate(frames, size=size, mode="bicubic", antialias=True, align_corners=False)
    return found.clamp(0, 255).round().byte()[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize("draw", [noise, smooth, edges])
@pytest.mark.parametrize(("stored", "wanted"), SIZES)
def test_every_value_is_torchs(draw, stored: tuple[int, int], wanted: tuple[int, int]) -> None:
    pixels = draw(*stored)
    assert np.array_equal(resize_antialiased(pixels, wanted), in_torch(pixels, wanted))


def test_the_same_size_changes_nothing() -> None:
    pixels = noise(64, 96)
    assert np.array_equal(resize_antialiased(pixels, (64, 96)), pixels)


def test_plain_sums_alone_would_round_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why values next to a half are computed again; and an image with too many of them is off by one at most."""
    pixels, wanted = noise(512, 640), (416, 512)
    monkeypatch.setattr(antialias, "MAX_NEAR_SHARE", -1)
    difference = resize_antialiased(pixels, wanted).astype(int) - in_torch(pixels, wanted)
    assert 0 < np.count_nonzero(difference) < difference.size / 1000
    assert np.abs(difference).max() == 1
