"""The protocol of a model, whatever its family: all that scheduler, caches and runner know of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from service.model.packed.packed_batch import PackedBatch

Grid = tuple[int, int, int]
"""Temporal, height and width of an image in patches."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A prompt of the known-answer check at start.

    Attributes:
        token_ids: with placeholders.
        pixels: `[height, width, 3]`, uint8, of its only image, or `[2, height, width, 3]` of a pair of frames; None
            when it has none.
        samples: `[num_samples]`, float32, of its only audio; likewise.
        num_hidden: tokens at the end that no token attends to.
        offset: of the first placeholder.
        num_tokens: placeholders of the image.
        grid_thw: the image's patches.
    """

    token_ids: list[int]
    pixels: NDArray[np.uint8] | None = None
    offset: int = 0
    num_tokens: int = 0
    grid_thw: Grid = (1, 0, 0)
    samples: NDArray[np.float32] | None = None
    num_hidden: int = 0


@dataclass(frozen=True, slots=True)
class Tower:
    """The half of a model that sees images, by which stored features are told apart.

    Attributes:
        module: its weights.
        config_json: its configuration.
        feature_width: numbers of a row of features.
        dtype: of the features.
    """

    module: torch.nn.Module
    config_json: str
    feature_width: int
    dtype: torch.dtype


class EmbeddingModel(Protocol):
    """Media to features, packed prompts to raw vectors.

    `architectures.load_model` binds it: from the architecture of a profile to the class that loads the checkpoint.

    Attributes:
        hidden_size: numbers of a raw vector: 1 of a reranker, the logit of a pair.
        num_parameters: of all weights.
        device: where it runs.
        dtype: of its weights and features.
        placeholder_ids: tokens whose embeddings are replaced by features, by the kind of media that the model takes:
            `image`, `video` (a pair of frames), `audio`.
        tower: what sees images; None for a model of text.
        patch_size: pixels along one side of a unit of an image's grid.
    """

    @property
    def hidden_size(self) -> int: ...  # noqa: D102
    @property
    def num_parameters(self) -> int: ...  # noqa: D102
    @property
    def device(self) -> torch.device: ...  # noqa: D102
    @property
    def dtype(self) -> torch.dtype: ...  # noqa: D102
    @property
    def placeholder_ids(self) -> Mapping[str, int]: ...  # noqa: D102
    @property
    def tower(self) -> Tower | None: ...  # noqa: D102
    @property
    def patch_size(self) -> int: ...  # noqa: D102

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """Position ids of one prompt, `[rows, num_tokens]`, from the offset and grid of each image, in order."""
        ...

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of one image or pair of frames, `[tokens, feature_width]`, contiguous, on the device.

        They depend on nothing but the pixels: neither on other images nor on any prompt.

        Args:
            pixels: `[height, width, 3]`, uint8, resized by the profile's rule; `[2, height, width, 3]` for a pair. Of
                an audio file its samples, `[num_samples]`, float32, at the profile's rate.
        """
        ...

    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """Raw pooled vectors, `[num_requests, hidden_size]`, float32, on the device; neither cut nor normalized.

        Of a late-interaction model (its profile's pooling is `multi_vector`) one for each token, `[total_tokens,
        hidden_size]`, in packed order. Where the batch's `asks` need all tokens, rows that `stock/hybrid_encoder.py`
        describes, `[total_rows, hidden_size + 1]`.
        """
        ...

    def probes(self) -> Sequence[Probe]:
        """Prompts that go through every path of `embed`, for the known-answer check."""
        ...

    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """The raw vector of a probe by the stock module's own forward, `[hidden_size]`: our weights alone.

        Of a late-interaction model `[num_tokens, hidden_size]`, one for each token.
        """
        ...
