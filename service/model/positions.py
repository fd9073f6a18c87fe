"""Position ids of one prompt, from its length and where its images stand.

numpy only. A packed batch has the rows of its prompts side by side.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Grid = tuple[int, int, int]


def mrope_positions(
    num_tokens: int, placeholders: Iterable[tuple[int, Grid]], merge_size: int = 2
) -> NDArray[np.int64]:
    """Number the tokens of one prompt.

    A text token at position p gets T = H = W = p, and p grows by 1. Token (i, j) of an image of gh x gw tokens gets
    T = p, H = p + i, W = p + j, and p grows by max(gh, gw) after the image.

    Args:
        placeholders: offset of the first token and (t, h, w) in patches of each image, in order; t is 1.

    Returns:
        int64 [4, num_tokens]: row 0 counts from 0 (its restart marks the next item of a packed batch), rows 1 to 3 are
        T, H and W.

    Source: transformers 5.23, `Qwen3VLModel.get_rope_index`; docs/notes/qwen3-vl-embedding.md.
    """
    positions = np.empty((4, num_tokens), dtype=np.int64)
    positions[:] = np.arange(num_tokens)
    index = position = 0
    for offset, grid in placeholders:
        frames, *sides = grid
        if frames != 1 or min(sides) < 1 or any(side % merge_size for side in sides):
            raise ValueError(f"grid {grid} is not one frame of whole {merge_size} x {merge_size} blocks")
        rows, columns = (side // merge_size for side in sides)
        if not index <= offset <= num_tokens - rows * columns:
            raise ValueError(f"an image of {rows * columns} tokens at {offset} does not fit {index}..{num_tokens}")
        positions[1:, index:offset] = np.arange(position, position + offset - index)
        position += offset - index
        index = offset + rows * columns
        positions[1, offset:index] = position
        positions[2, offset:index] = position + np.repeat(np.arange(rows), columns)
        positions[3, offset:index] = position + np.tile(np.arange(columns), rows)
        position += max(rows, columns)
    if index:
        positions[1:, index:] = np.arange(position, position + num_tokens - index)
    return positions


def plain_positions(num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
    """Three equal rows that count from 0, images or not.

    References that pass `inputs_embeds` and no positions number so, and those whose prompts have no `<|vision_start|>`
    in front of an image, by which transformers up to 4.57 found it.

    Source: GME's `gme_inference.py`; VLM2Vec's `get_rope_index`.
    """
    return np.tile(np.arange(num_tokens, dtype=np.int64), (3, 1))


def rope_positions(num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
    """Temporal, height and width, as transformers numbers them for images."""
    return mrope_positions(num_tokens, placeholders)[1:]
