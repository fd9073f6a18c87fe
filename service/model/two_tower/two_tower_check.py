"""The other side of a two-tower model's known-answer check: the stock module fed as transformers' processors feed it.

Plain attention, texts with padding and its mask, pixels by numpy, NaFlex's patches with padding: nothing is shared with
`TwoTower` but the weights.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.image_processor import Scaling
from service.model.backbone import Probe
from service.model.packed.packed_attention import stock_attention
from service.outputs.plan import TokenPlan

NUM_PADS = 3
"""Padding of texts and of patches."""
TEXT_LENGTHS = (12, 7, 12)


class TwoTowerCheck:
    """Probes, and their vectors by the stock module.

    Args:
        patch_size: of a unit of the grid, pixels.
        is_padded: texts have one length, and padding is attended to.
    """

    def __init__(self, stock: PreTrainedModel, scaling: Scaling, *, patch_size: int, is_padded: bool) -> None:
        self._stock: Any = stock
        self._text: Any = self._stock.config.text_config
        self._scaling = scaling
        self._patch_size = patch_size
        self._is_padded = is_padded
        self._is_naflex = hasattr(self._stock.config.vision_config, "num_patches")

    def probes(self) -> Sequence[Probe]:
        """An image, and texts of two lengths, one of them twice."""
        rows, columns = (2, 3) if self._is_naflex else (1, 1)
        y, x = np.mgrid[0 : rows * self._patch_size, 0 : columns * self._patch_size]
        pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)
        image = Probe(TokenPlan([int(self._text.vocab_size)]), pixels, 0, 1, (1, rows, columns))
        most = int(self._text.max_position_embeddings)
        lengths = [most if self._is_padded else min(length, most - NUM_PADS) for length in TEXT_LENGTHS]
        return [image, *(Probe(TokenPlan(self._token_ids(i, length))) for i, length in enumerate(lengths))]

    def vector(self, probe: Probe) -> torch.Tensor:
        """The raw vector of a probe, `[hidden]`."""
        with stock_attention("eager", self._stock.text_model.config, self._stock.vision_model.config):
            found = self._text_output(probe.plan.ids) if probe.pixels is None else self._image_output(probe.pixels)
        vector: torch.Tensor = found.pooler_output[0]
        return vector

    def _token_ids(self, first: int, num_tokens: int) -> list[int]:
        """Ids that end in the one that CLIP pools: the number that config.json gives, or the largest of all."""
        end, num_ids = self._text.eos_token_id, int(self._text.vocab_size)
        if not isinstance(end, int) or not 2 < end < num_ids:
            end = num_ids - 1
        words = [3 + (first * 5 + place * 7) % (num_ids - 4) for place in range(num_tokens - 1)]
        return [*(word - 1 if word == end else word for word in words), end]

    def _text_output(self, token_ids: list[int]) -> Any:
        if self._is_padded:
            return self._stock.get_text_features(input_ids=torch.tensor([token_ids], device=self._stock.device))
        return padded_text(self._stock, token_ids, 0)

    def _image_output(self, pixels: NDArray[np.uint8]) -> Any:
        scaling, device = self._scaling, self._stock.device
        values = (pixels * scaling.factor - np.array(scaling.mean)) / np.array(scaling.std)
        if not self._is_naflex:
            chosen = torch.from_numpy(values.transpose(2, 0, 1)[None]).float()
            return self._stock.get_image_features(pixel_values=chosen.to(device))
        side = self._patch_size
        rows, columns = values.shape[0] // side, values.shape[1] // side
        patches = [
            values[y * side : (y + 1) * side, x * side : (x + 1) * side].ravel()
            for y in range(rows)
            for x in range(columns)
        ]
        padded = torch.from_numpy(np.pad(np.stack(patches), ((0, NUM_PADS), (0, 0)))[None]).float()
        mask = torch.arange(len(patches) + NUM_PADS, device=device)[None] < len(patches)
        return self._stock.get_image_features(
            pixel_values=padded.to(device),
            pixel_attention_mask=mask.int(),
            spatial_shapes=torch.tensor([[rows, columns]]),
        )


def padded_text(stock: Any, token_ids: Sequence[int], pad: int) -> Any:
    """The stock module's output for a text with padding and its mask."""
    ids = torch.tensor([[*token_ids, *[pad] * NUM_PADS]], device=stock.device)
    mask = torch.arange(ids.shape[1], device=ids.device)[None] < len(token_ids)
    return stock.get_text_features(input_ids=ids, attention_mask=mask.long())
