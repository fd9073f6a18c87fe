"""Pixels as a stock two-tower module takes them: scaled and shifted, and for NaFlex cut into patches.

In: uint8 pixels. Out: arguments of `get_image_features`. The numbers are those of transformers' processors, bit for
bit: float64 for the scale, float32 for the rest.
"""

import torch

from service.model.image_processor import Scaling


def picture_inputs(
    pixels: torch.Tensor, scaling: Scaling, device: torch.device, patch_size: int | None
) -> dict[str, torch.Tensor]:
    """``(x · factor - mean) / std``.

    Args:
        pixels: `[height, width, 3]`, uint8.
        scaling: the model's.
        device: where to compute.
        patch_size: side of a patch, pixels, for a model that takes patches and their grid; None: it takes a picture.

    Returns:
        `pixel_values`, `[1, 3, height, width]`, float32; or `[1, patches, patch_size² · 3]` with a mask of ones and the
        grid, and no padding.

    Source: transformers 5.23 `PilBackend.rescale` and `normalize`, `convert_image_to_patches`.
    """
    mean, std = (torch.tensor(numbers, dtype=torch.float32, device=device) for numbers in (scaling.mean, scaling.std))
    values = ((pixels.to(device).double() * scaling.factor).float() - mean) / std
    if patch_size is None:
        return {"pixel_values": values.permute(2, 0, 1)[None].contiguous()}
    rows, columns = values.shape[0] // patch_size, values.shape[1] // patch_size
    blocks = values.view(rows, patch_size, columns, patch_size, 3).permute(0, 2, 1, 3, 4)
    patches = blocks.reshape(1, rows * columns, patch_size * patch_size * 3)
    return {
        "pixel_values": patches,
        "pixel_attention_mask": torch.ones(patches.shape[:2], dtype=torch.int32, device=device),
        "spatial_shapes": torch.tensor([[rows, columns]]),
    }
