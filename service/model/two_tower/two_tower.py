"""CLIP, SigLIP and their kin as the engine runs them: a tower for images, a tower for texts, one space.

An image's features are its final vector, projection included: that is what the encoder cache keeps, so an image that
is known costs no tower at all. Texts run packed, or by equal lengths (`tower_texts.py`).
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.image_processor import Scaling
from service.model.backbone import Backbone, Needs, Probe, Tower
from service.model.packed.packed_batch import PackedBatch
from service.model.states import States
from service.model.two_tower.tower_texts import TowerTexts, split_items
from service.model.two_tower.two_tower_check import TwoTowerCheck

NAFLEX = "siglip2"
"""Model type whose images keep their shape."""


class TwoTower(Backbone):
    """A `Backbone` on a `CLIPModel`, `MetaClip2Model`, `ChineseCLIPModel`, `SiglipModel` or `Siglip2Model`.

    Attributes:
        patch_size: pixels along one side of a unit of the grid: a patch of NaFlex, or the whole image.
    """

    def __init__(self, stock: PreTrainedModel, scaling: Scaling) -> None:
        super().__init__(stock)
        self.stock: Any = stock
        self._text: Any = self.stock.config.text_config
        self._vision: Any = self.stock.config.vision_config
        self._is_naflex = stock.config.model_type == NAFLEX
        self._is_padded = stock.config.model_type in ("siglip", NAFLEX)
        self._scaling = scaling
        self.patch_size = int(self._vision.patch_size if self._is_naflex else self._vision.image_size)
        self.placeholder_ids = {"image": int(self._text.vocab_size)}
        self.width = int(self._vision.hidden_size if self._is_padded else self.stock.config.projection_dim)
        self._texts = TowerTexts(stock, is_padded=self._is_padded)
        self._check = TwoTowerCheck(stock, scaling, patch_size=self.patch_size, is_padded=self._is_padded)

    @property
    def tower(self) -> Tower:
        """The image tower with its projection, and the scaling of its pixels."""
        modules = torch.nn.ModuleDict({"tower": self.stock.vision_model})
        if hasattr(self.stock, "visual_projection"):
            modules["projection"] = self.stock.visual_projection
        return Tower(modules, f"{self._vision.to_json_string()}{self._scaling}", self.width, self.dtype)

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """The image's vector, `[1, hidden]`, not normalized."""
        inputs = image_inputs(pixels, self._scaling, self.device, self.patch_size if self._is_naflex else None)
        vector: torch.Tensor = self.stock.get_image_features(**inputs).pooler_output
        return vector.contiguous()

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """Final vectors: images' as they came; texts' by their tower."""
        vectors, texts, rows = split_items(batch, self.width, self.device)
        if texts:
            vectors[rows] = self._texts.vectors(texts).float()
        return States(vectors, [1] * len(vectors))

    def probes(self) -> Sequence[Probe]:
        """Texts of two lengths, one of them twice, and an image."""
        return self._check.probes()

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> States:
        """See `TwoTowerCheck.vector`."""
        return States(self._check.vector(probe)[None], [1])


def image_inputs(
    pixels: torch.Tensor, scaling: Scaling, device: torch.device, patch_size: int | None
) -> dict[str, torch.Tensor]:
    """``(x · factor - mean) / std`` of pixels, as arguments of the stock module's `get_image_features`.

    Bit for bit as transformers' processors: float64 for the scale, float32 for the rest.

    Args:
        pixels: `[height, width, 3]`, uint8.
        patch_size: side of a patch, pixels, for a model that takes patches and their grid; None: it takes an image.

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
