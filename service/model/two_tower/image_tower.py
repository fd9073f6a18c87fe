"""DINOv2, DINOv3 and SigLIP's vision side as the engine runs them: images alone, one at a time, by the stock module.

An image's features are its vector, which the encoder cache keeps; a batch of prompts only hands them on.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.image_processor import Scaling
from service.model.backbone import Backbone, Needs, Probe, Tower
from service.model.packed.packed_attention import stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.states import States
from service.model.two_tower.two_tower import image_inputs
from service.outputs.plan import TokenPlan

PLACEHOLDER = 1
"""Id of an image's token, behind the only one that a tokenizer without texts has."""
FLOAT_BYTES = 4


class ImageTower(Backbone):
    """A `Backbone` on a vision model of transformers whose `pooler_output` is the image's vector.

    Args:
        side: of the square that it takes, pixels.
        in_floats: pixels come resized in float32, not rounded.
    """

    def __init__(self, stock: PreTrainedModel, scaling: Scaling, side: int, *, in_floats: bool) -> None:
        super().__init__(stock)
        self.stock: Any = stock
        self.width = int(self.stock.config.hidden_size)
        self.placeholder_ids = {"image": PLACEHOLDER}
        self.patch_size = side
        self._scaling, self._in_floats = scaling, in_floats

    @property
    def tower(self) -> Tower:
        """All of it, and the scaling of its pixels."""
        return Tower(self.stock, f"{self.stock.config.to_json_string()}{self._scaling}", self.width, self.dtype)

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """The image's vector, `[1, width]`, not normalized."""
        inputs = image_inputs(self._numbers(pixels), self._scaling, self.device, None)
        vector: torch.Tensor = self.stock(**inputs).pooler_output
        return vector.contiguous()

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """The vectors as they came: each prompt is an image."""
        return States(batch.visual.features.float(), batch.segment_lengths)

    def probes(self) -> Sequence[Probe]:
        """Two images."""
        y, x = np.mgrid[0 : self.patch_size, 0 : self.patch_size]
        found = (np.stack([2 * x, 3 * y, x + y + first], axis=-1).astype(np.uint8) for first in (0, 90))
        columns = FLOAT_BYTES if self._in_floats else 1
        return [Probe(TokenPlan([PLACEHOLDER]), self._bytes(one), 0, 1, (1, 1, columns)) for one in found]

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> States:
        """With plain attention, and pixels scaled by numpy."""
        assert probe.pixels is not None  # all of them have
        scaling, numbers = self._scaling, self._numbers(torch.from_numpy(probe.pixels)).numpy()
        values = (numbers * scaling.factor - np.array(scaling.mean)) / np.array(scaling.std)
        chosen = torch.from_numpy(values.transpose(2, 0, 1)[None]).to(self.device, torch.float32)
        with stock_attention("eager", self.stock.config):
            return States(self.stock(pixel_values=chosen).pooler_output, [1])

    def _numbers(self, pixels: torch.Tensor) -> torch.Tensor:
        """`[side, side, 3]` of the pixels as they lie in shared memory."""
        side = self.patch_size
        return pixels.reshape(side, -1).view(torch.float32).view(side, side, 3) if self._in_floats else pixels

    def _bytes(self, pixels: np.ndarray) -> np.ndarray:
        side = self.patch_size
        return pixels.astype(np.float32).view(np.uint8).reshape(side, -1, 3) if self._in_floats else pixels
