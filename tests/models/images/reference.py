"""transformers alone: its image processor and its model; the formula of DINOv3's, which needs torchvision."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import interpolate
from transformers import AutoModel, BitImageProcessorPil, SiglipImageProcessorPil

PROCESSORS: dict[str, Any] = {
    "BitImageProcessor": BitImageProcessorPil,
    "SiglipImageProcessor": SiglipImageProcessorPil,
}
FILTERS = {2: "bilinear", 3: "bicubic"}


class Reference:
    """A folder's images as transformers sees them."""

    def __init__(self, folder: Path) -> None:
        self.said = json.loads((folder / "preprocessor_config.json").read_bytes())
        self.processor = PROCESSORS.get(self.said["image_processor_type"])
        self._folder = folder
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()

    def pixels(self, encoded: bytes) -> torch.Tensor:
        """`[1, 3, side, side]`."""
        image = Image.open(io.BytesIO(encoded))
        if self.processor is not None:
            found: torch.Tensor = self.processor.from_pretrained(self._folder)([image], return_tensors="pt")[
                "pixel_values"
            ]
            return found
        return self._by_formula(image)

    def _by_formula(self, image: Image.Image) -> torch.Tensor:
        """Rescale, resize, normalize.

        Source: transformers 5.24 `DINOv3ViTImageProcessor._preprocess`; torchvision 0.27 `resize_image`.
        """
        if image.mode != "RGB":  # it converts nothing; the caller does
            rgba = image.convert("RGBA")
            white = Image.new("RGBA", image.size, (255, 255, 255, 255))
            image = (
                Image.alpha_composite(white, rgba).convert("RGB")
                if image.has_transparency_data
                else image.convert("RGB")
            )
        values = torch.from_numpy(np.array(image)).permute(2, 0, 1)[None] * self.said["rescale_factor"]
        size, mode = tuple(self.said["size"].values()), FILTERS[self.said["resample"]]
        values = interpolate(values, size=size, mode=mode, align_corners=False, antialias=True)
        mean, std = (torch.tensor(self.said[name])[:, None, None] for name in ("image_mean", "image_std"))
        return (values - mean) / std

    @torch.inference_mode()
    def images(self, encoded: Sequence[bytes]) -> np.ndarray:
        """Unit vectors, `[images, width]`, one by one."""
        vectors = torch.cat([self.model(pixel_values=self.pixels(one)).pooler_output for one in encoded])
        unit: np.ndarray = (vectors / vectors.norm(dim=-1, keepdim=True)).numpy()
        return unit
