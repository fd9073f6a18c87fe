"""RGB pixels to normalized patches, in the order in which the vision tower merges them."""

import torch

PATCH = 16
MERGE = 2
TEMPORAL = 2


def patchify(pixels: torch.Tensor) -> torch.Tensor:
    """``x / 127.5 - 1``, cut into 16 × 16 patches that walk 2 × 2 merge blocks, the still frame twice.

    Args:
        pixels: `[height, width, 3]`, uint8; both sides multiples of 32.

    Returns:
        `[height / 16 · width / 16, 1536]`, float32; a row is channel × frame × patch row × patch column, and rows go
        by (block row, block column, row in block, column in block).

    Source: transformers `Qwen2VLImageProcessor._preprocess`.
    """
    height, width, channels = pixels.shape
    rows, columns = height // (PATCH * MERGE), width // (PATCH * MERGE)
    blocks = (pixels.float() / 127.5 - 1).view(rows, MERGE, PATCH, columns, MERGE, PATCH, channels)
    patches = blocks.permute(0, 3, 1, 4, 6, 2, 5)  # block row, block column, row, column, channel, y, x
    still = patches.unsqueeze(5).expand(-1, -1, -1, -1, -1, TEMPORAL, -1, -1)
    return still.reshape(rows * columns * MERGE * MERGE, channels * TEMPORAL * PATCH * PATCH)


def patchify_pair(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The same for two frames of a video: each patch has one after the other where a still picture stands twice.

    Args:
        first: `[height, width, 3]`, uint8, the earlier frame.
        second: likewise, the later one.
    """
    halves = [patchify(frame).view(-1, 3, TEMPORAL, PATCH * PATCH) for frame in (first, second)]
    return torch.stack([halves[0][:, :, 0], halves[1][:, :, 1]], dim=2).flatten(1)
