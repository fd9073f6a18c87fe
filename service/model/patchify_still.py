"""RGB pixels of a still picture to normalized patches without the second, equal frame: half the numbers of `patchify`.

The stock tower sees a still picture twice, as two frames, and adds up what the two halves of its patch projection make
of them. The sum of the halves, applied once, gives the same.

Source: vllm-project/vllm#44787, which does so before its tower.
"""

import torch

from service.model.patchify import MERGE, PATCH


def patchify_still(pixels: torch.Tensor) -> torch.Tensor:
    """``x / 127.5 - 1``, cut into 16 × 16 patches that walk 2 × 2 merge blocks.

    Args:
        pixels: `[height, width, 3]`, uint8; both sides multiples of 32.

    Returns:
        `[height / 16 · width / 16, 768]`, float32; a row is channel × patch row × patch column, and rows go by (block
        row, block column, row in block, column in block).
    """
    height, width, channels = pixels.shape
    rows, columns = height // (PATCH * MERGE), width // (PATCH * MERGE)
    blocks = pixels.view(rows, MERGE, PATCH, columns, MERGE, PATCH, channels).permute(0, 3, 1, 4, 6, 2, 5)
    patches = blocks.to(torch.float32, memory_format=torch.contiguous_format)
    return patches.view(-1, channels * PATCH * PATCH).div_(127.5).sub_(1)


def fold_still(weight: torch.Tensor) -> torch.Tensor:
    """The patch projection for patches of one frame: the sum of its halves.

    Args:
        weight: `[hidden, 3, 2, 16, 16]`, of the stock tower's convolution.

    Returns:
        `[hidden, 768]`, in the dtype of `weight`.
    """
    return weight.float().sum(2).flatten(1).to(weight.dtype)
