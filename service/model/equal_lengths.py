"""Texts through a stock tower that knows no packing: equal lengths together, so no padding and no mask."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray


def by_length(
    texts: Sequence[NDArray[np.int64]], device: torch.device, embed: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Vectors, `[texts, hidden]`, in the order of the texts.

    Args:
        texts: token ids of each.
        device: where they are embedded.
        embed: token ids `[num_texts, num_tokens]` to vectors `[num_texts, hidden]`.
    """
    lengths = np.array([len(text) for text in texts])
    vectors: list[torch.Tensor] = []
    for length in np.unique(lengths):
        ids = np.stack([text for text in texts if len(text) == length])
        vectors.append(embed(torch.from_numpy(ids).to(device)))
    order = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
    return torch.cat(vectors)[torch.from_numpy(order).to(device)]
