"""Multimodal rotary positions of one prompt.

In: its length and where its pictures stand. Out: four rows of position ids.
numpy only. Knows no batch: packing concatenates the rows of several prompts.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Grid = tuple[int, int, int]


def mrope_positions(
    num_tokens: int, placeholders: Iterable[tuple[int, Grid]], merge_size: int = 2
) -> NDArray[np.int64]:
    """Number the tokens of one prompt.

    A text token at position p gets T = H = W = p, and p grows by 1. Token (i, j) of a picture of gh x gw tokens gets
    T = p, H = p + i, W = p + j, and p grows by max(gh, gw) after the picture.

    Args:
        num_tokens: length of the prompt.
        placeholders: offset of the first token and (t, h, w) in patches of each picture, in order; t is 1.
        merge_size: patches along one side of a visual token.

    Returns:
        int64 [4, num_tokens]: row 0 counts from 0 (its restart marks the next item of a packed batch), rows 1 to 3 are
        T, H and W.

    Source: reference/qwen3-vl-embedding.md section 6.4; transformers 5.23, `Qwen3VLModel.get_rope_index`.
    """
    positions = np.empty((4, num_tokens), dtype=np.int64)
    positions[0] = np.arange(num_tokens)
    index = position = 0
    for offset, grid in placeholders:
        rows, columns = _merged(grid, merge_size)
        if not index <= offset <= num_tokens - rows * columns:
            raise ValueError(f"a picture of {rows * columns} tokens at {offset} does not fit {index}..{num_tokens}")
        positions[1:, index:offset] = np.arange(position, position + offset - index)
        position += offset - index
        index = offset + rows * columns
        positions[1, offset:index] = position
        positions[2, offset:index] = position + np.repeat(np.arange(rows), columns)
        positions[3, offset:index] = position + np.tile(np.arange(columns), rows)
        position += max(rows, columns)
    positions[1:, index:] = np.arange(position, position + num_tokens - index)
    return positions


def _merged(grid: Grid, merge_size: int) -> tuple[int, int]:
    frames, rows, columns = grid
    if frames != 1 or rows < 1 or columns < 1 or rows % merge_size or columns % merge_size:
        raise ValueError(f"grid {grid} is not one frame of whole {merge_size} x {merge_size} blocks")
    return rows // merge_size, columns // merge_size
