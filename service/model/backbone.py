"""The protocol of a backbone: media to features, packed prompts to hidden states. What they become is a head's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.modeling_utils import PreTrainedModel

from service.errors import ModelError
from service.model.adapted import AdaptedLayer, Chosen, adapted_layers
from service.model.linear.products import PackedProducts
from service.model.packed.packed_batch import PackedBatch
from service.model.states import States
from service.outputs.plan import TokenPlan

Grid = tuple[int, int, int]
"""Temporal, height and width of an image in patches."""

Needs = Literal["last", "all"]
"""The hidden states that a head reads: of each prompt's last token, or of all tokens."""


StockRun = States | torch.Tensor
"""Of a probe by the stock module: hidden states, or `[rows, numbers]` that its own head makes of them."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A prompt of the known-answer check at start.

    Attributes:
        plan: its tokens, with placeholders.
        pixels: `[height, width, 3]`, uint8, of its only image, or `[2, height, width, 3]` of a pair of frames; None
            when it has none.
        samples: `[num_samples]`, float32, of its only audio; likewise.
        offset: of the first placeholder.
        num_tokens: placeholders of the image.
        grid_thw: the image's patches.
    """

    plan: TokenPlan
    pixels: NDArray[np.uint8] | None = None
    offset: int = 0
    num_tokens: int = 0
    grid_thw: Grid = (1, 0, 0)
    samples: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Tower:
    """The half of a model that sees images, by which stored features are told apart."""

    module: torch.nn.Module
    config_json: str
    feature_width: int
    dtype: torch.dtype


class Backbone:
    """All that scheduler, caches and runner know of a model's weights, but for its heads.

    Attributes:
        width: numbers of a hidden state.
        placeholder_ids: tokens whose embeddings are replaced by features, by the kind of media that the model takes:
            `image`, `video` (a pair of frames), `audio`.
        patch_size: pixels along one side of a unit of an image's grid.
        adapted: layers whose weights adapters share, by their names.
        chosen: whose turn it is there.
    """

    width: int
    placeholder_ids: Mapping[str, int] = MappingProxyType({})
    patch_size: int = 1
    adapted: Mapping[str, AdaptedLayer] = MappingProxyType({})
    chosen = Chosen()

    def __init__(self, stock: PreTrainedModel) -> None:
        self.num_parameters = sum(parameter.numel() for parameter in stock.parameters())
        self.device = stock.device
        self.dtype = stock.dtype
        self.adapted = adapted_layers(stock)
        self.chosen = next((one.chosen for one in self.adapted.values()), Chosen())

    @property
    def tower(self) -> Tower | None:
        """The half that sees images; None for a model of text."""
        return None

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """Position ids of one prompt, `[rows, num_tokens]`, from the offset and grid of each image, in order.

        Unless the model has others: one row, from 0.
        """
        return np.arange(num_tokens, dtype=np.int64)[None]

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of one image or pair of frames, `[tokens, feature_width]`, contiguous, on the device.

        They depend on nothing but the pixels: neither on other images nor on any prompt.

        Args:
            pixels: `[height, width, 3]`, uint8, resized by the profile's rule; `[2, height, width, 3]` for a pair. Of
                an audio file its samples, `[num_samples]`, float32, at the profile's rate.

        Raises:
            ModelError: the model takes text only.
        """
        raise ModelError("internal_error", "this model takes text only; the front should have refused the image")

    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """Post-norm hidden states; with `needs` `last` those of other tokens may be missing."""
        raise NotImplementedError

    def probes(self) -> Sequence[Probe]:
        """Prompts that go through every path of `states`, for the known-answer check."""
        raise NotImplementedError

    def stock_run(self, probe: Probe) -> StockRun:
        """The stock module's own forward of a probe: our weights alone."""
        raise NotImplementedError

    def prepack(self) -> PackedProducts | None:
        """Bring matrices into the layout of the products that it gives, if any; the stock forward may not run after."""
        return None
