"""Best rates of the card: a large copy, and a large bfloat16 matrix product, on random data."""

from collections.abc import Iterator

import torch

from tests.gpu.row import Row
from tests.gpu.stage import Stage

NAMES = ("ceiling: device-to-device copy", "ceiling: bfloat16 matrix product, 8192³")


def measure(stage: Stage) -> Iterator[Row]:
    """Both, kept in the stage for the others."""
    stage.copy_bytes_s = _copy(stage)
    yield Row(NAMES[0], f"{stage.copy_bytes_s / 1e12:.2f} TB/s, read and written")
    stage.matmul_flop_s = _product(stage)
    yield Row(NAMES[1], f"{stage.matmul_flop_s / 1e12:.0f} TFLOP/s")


def _copy(stage: Stage) -> float:
    source = torch.randint(0, 255, (stage.size(1 << 31, 1 << 20),), dtype=torch.uint8, device=stage.device)
    target = torch.empty_like(source)
    return 2 * source.numel() / stage.seconds(lambda: target.copy_(source))


def _product(stage: Stage) -> float:
    side = stage.size(8192, 64)
    left, right = (torch.randn(side, side, device=stage.device, dtype=torch.bfloat16) for _ in range(2))
    return 2 * side**3 / stage.seconds(lambda: left @ right)
