"""Numbers the placeholders of a batch by the image token that they stand for.

By the tensor of its features and not by its content key: one tensor has one content, whoever made the key.
"""

import numpy as np
import torch
from numpy.typing import NDArray

from service.ipc.messages import Media


class ImageNumbers:
    """Numbers of the visual tokens of a batch, image by image."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], int] = {}
        self._num_tokens = 0
        self._numbers: list[NDArray[np.int64]] = []

    def add(self, media: Media, features: torch.Tensor) -> None:
        """Number the placeholders of the next image, whose features the batch keeps alive."""
        key = (id(features), media.grid_thw, media.kind)
        first = self._first.setdefault(key, self._num_tokens)
        self._num_tokens += media.num_tokens * (first == self._num_tokens)
        self._numbers.append(np.arange(first, first + media.num_tokens))

    def all(self) -> torch.Tensor:
        """`[visual_tokens]`, int64, in the order in which images were added."""
        return torch.from_numpy(np.concatenate(self._numbers) if self._numbers else np.zeros(0, np.int64))
