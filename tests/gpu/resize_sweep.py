"""Our resize against Pillow over 10,000 random sizes: bytes that differ, and there may be none."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import numpy as np
import torch
from PIL import Image

from cenote_kernels.resize import resize_kernel, vertical_first
from tests.gpu.row import Row
from tests.gpu.stage import Stage

NUM_SIZES = 10_000
LONGEST = (8, 64, 300, 700)
AT_ONCE = 500
NAME = f"resize: bytes that differ from Pillow, {NUM_SIZES:,} random sizes"
NAMES = (NAME,)
PILLOW_HAS_ONE_ORDER = int(version("pillow").partition(".")[0]) < 13

Case = tuple[np.ndarray, int, int]


def measure(stage: Stage) -> Iterator[Row]:
    """Pillow on the host's cores, ours on the device."""
    rng = np.random.default_rng(20261121)
    differing = tried = 0
    with ThreadPoolExecutor() as pool:
        while tried < stage.size(NUM_SIZES, 12) and stage.seconds_left() > 0:
            cases = [_case(rng, turn) for turn in range(stage.size(AT_ONCE, 12))]
            wanted = pool.map(_pillow, cases)  # while the device works
            ours = [_ours(stage, *case) for case in cases]
            differing += sum(int((got.cpu().numpy() != want).sum()) for got, want in zip(ours, wanted, strict=True))
            tried += len(cases)
    order = "; Pillow before 13 has one order of passes: only such sizes" if PILLOW_HAS_ONE_ORDER else ""
    measured = f"{differing} bytes differ over {tried:,} sizes, Pillow {version('pillow')}{order}"
    yield Row(NAME, measured, wanted="0", holds=differing == 0 and tried >= stage.size(NUM_SIZES, 12))


def _case(rng: np.random.Generator, turn: int) -> Case:
    while True:
        in_height, in_width, height, width = (int(rng.integers(1, rng.choice(LONGEST) + 1)) for _ in range(4))
        if not (PILLOW_HAS_ONE_ORDER and vertical_first(in_height, in_width, height, width)):
            break
    pixels = rng.integers(0, 256, (in_height, in_width, 3), dtype=np.uint8)
    return ((pixels > 127).astype(np.uint8) * 255 if turn % 3 == 0 else pixels), height, width


def _pillow(case: Case) -> np.ndarray:
    pixels, height, width = case
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BICUBIC))


def _ours(stage: Stage, pixels: np.ndarray, height: int, width: int) -> torch.Tensor:
    return resize_kernel(torch.from_numpy(pixels).to(stage.device), height, width, launch=stage.launch)
