"""The vision half: pixels of one picture to the features that the language model takes in."""

import torch
from transformers import Qwen3VLModel

from service.model.patchify import MERGE, PATCH, patchify


class VisionTower:
    """Encodes pictures one at a time, so that features do not depend on batch mates and may be cached by content."""

    def __init__(self, model: Qwen3VLModel) -> None:
        self.visual = model.visual
        self.device = model.visual.patch_embed.proj.weight.device
        self.dtype = model.visual.patch_embed.proj.weight.dtype

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of one picture: the merged output, then each deepstack level, side by side.

        Args:
            pixels: `[height, width, 3]`, uint8, sides multiples of 32.

        Returns:
            `[height · width / 1024, hidden · (1 + deepstack)]` in the model's dtype, contiguous.
        """
        height, width, _ = pixels.shape
        grid_thw = torch.tensor([[1, height // PATCH, width // PATCH]], device=self.device)
        patches = patchify(pixels.to(self.device)).to(self.dtype)
        out = self.visual(patches, grid_thw=grid_thw, return_dict=True)
        features = torch.cat([out.pooler_output, *out.deepstack_features], dim=-1)
        if features.shape[0] != height * width // (PATCH * MERGE) ** 2:
            raise RuntimeError("the vision tower gave another number of tokens than the grid says. This is a bug.")
        return features
