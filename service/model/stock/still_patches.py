"""RGB pixels to normalized patches as stock towers of Qwen take them: any patch size, a mean for each channel.

Knows no model: the numbers come with the checkpoint. Qwen3-VL's own, on the device, is `cenote_kernels.patchify`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from service.errors import ModelError

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
"""Qwen2-VL's processor's own, where preprocessor_config.json has none."""


@dataclass(frozen=True, slots=True)
class StillPatches:
    """``(x / 255 - mean) / std``, cut into patches that walk merge blocks, a still image for each frame of a patch."""

    patch: int
    """Pixels along one side of a patch."""
    merge: int
    """Patches along one side of a visual token."""
    temporal: int
    """Frames of a patch: a still image is all of them."""
    mean: tuple[float, ...] = CLIP_MEAN  # of each channel, as `std`
    std: tuple[float, ...] = CLIP_STD

    @classmethod
    def of_checkpoint(cls, folder: Path, vision_config: Any) -> "StillPatches":  # a configuration's fields
        """The tower's sizes, and the processor's mean and deviation.

        Raises:
            ModelError: preprocessor_config.json is damaged, or the tower takes patches of another kind.
        """
        patch, merge = vision_config.patch_size, vision_config.spatial_merge_size
        temporal = vision_config.temporal_patch_size
        if not all(type(number) is int for number in (patch, merge, temporal)):
            raise ModelError("internal_error", "the vision tower's patches are not squares of one size")
        return cls(patch, merge, temporal, *_mean_and_std(folder))

    def __call__(self, pixels: torch.Tensor) -> torch.Tensor:
        """Patches of one image, or of a pair of frames.

        Args:
            pixels: `[height, width, 3]`, uint8; both sides multiples of `patch · merge`. Of a video's frames that are
                one patch `[temporal, height, width, 3]`.

        Returns:
            `[height / patch · width / patch, 3 · temporal · patch²]`, float32; a row is channel × frame × patch row ×
            patch column, and rows go by (block row, block column, row in block, column in block).

        Source: transformers 5.23 `Qwen2VLImageProcessorPil`, `Qwen3VLVideoProcessor`.
        """
        height, width, channels = pixels.shape[-3:]
        patch, merge = self.patch, self.merge
        rows, columns = height // (patch * merge), width // (patch * merge)
        mean, std = (torch.tensor(numbers, device=pixels.device) for numbers in (self.mean, self.std))
        normal = (pixels.float() / 255 - mean) / std
        blocks = normal.view(-1, rows, merge, patch, columns, merge, patch, channels)
        patches = blocks.permute(1, 4, 2, 5, 7, 0, 3, 6)  # block row, block column, row, column, channel, frame, y, x
        whole = patches.expand(-1, -1, -1, -1, -1, self.temporal, -1, -1)
        return whole.reshape(rows * columns * merge * merge, channels * self.temporal * patch * patch)

    def grid_thw(self, pixels: torch.Tensor) -> tuple[int, int, int]:
        """(1, rows, columns) of patches."""
        return 1, pixels.shape[-3] // self.patch, pixels.shape[-2] // self.patch


def _mean_and_std(folder: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of `image_processor` in processor_config.json, as transformers 5 writes it; else of preprocessor_config.json."""
    path = folder / "processor_config.json"
    try:
        found = json.loads(path.read_bytes()).get("image_processor") if path.exists() else None
        if found is None:
            path = folder / "preprocessor_config.json"
            found = json.loads(path.read_bytes()) if path.exists() else {}
        mean = tuple(map(float, found.get("image_mean", CLIP_MEAN)))
        std = tuple(map(float, found.get("image_std", CLIP_STD)))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelError("internal_error", f"{path.name} cannot be read: {error}") from error
    if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
        raise ModelError("internal_error", f"{path.name} has image_mean or image_std that are not three numbers each")
    return mean, std
