"""A scene's meaning under an aspect as zeros and ones: targets of the auxiliary loss, used only in training."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from service.model.builtin.scenes.outlines import SHAPES
from service.model.builtin.scenes.scenes import COLORS, MAX_OBJECTS, NUM_CELLS, Aspect, Scene

_COLORS: Final = {color: index for index, color in enumerate(COLORS)}
_SHAPES: Final = {shape: index for index, shape in enumerate(SHAPES)}
_SIZES: Final = 2

NUM_CELL_ATTRIBUTES: Final = len(COLORS) + len(SHAPES) + _SIZES
"""Attributes of one cell: color, shape, size; all zero where it is empty."""

_BLOCKS: Final[dict[Aspect, int]] = {
    "whole": NUM_CELLS * NUM_CELL_ATTRIBUTES,
    "colors": len(COLORS),
    "shapes": len(SHAPES),
    "count": MAX_OBJECTS,
    "positions": NUM_CELLS,
}
NUM_ATTRIBUTES: Final = sum(_BLOCKS.values())
"""Length of a row."""


def cell_attributes(scene: Scene) -> NDArray[np.float32]:
    """Color, shape and size of each cell: zeros and ones, `[9, NUM_CELL_ATTRIBUTES]`."""
    table = np.zeros((NUM_CELLS, NUM_CELL_ATTRIBUTES), np.float32)
    for thing in scene.objects:
        table[thing.cell, _COLORS[thing.color]] = 1
        table[thing.cell, len(COLORS) + _SHAPES[thing.shape]] = 1
        table[thing.cell, len(COLORS) + len(SHAPES) + int(thing.large)] = 1
    return table


def _any_of(indices: set[int], length: int) -> NDArray[np.float32]:
    row = np.zeros(length, np.float32)
    row[list(indices)] = 1
    return row


def attributes(scene: Scene, aspect: Aspect) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Targets `[NUM_ATTRIBUTES]` and, of the same length, which of them the aspect asks about.

    Args:
        aspect: `whole` asks about every object's properties in its cell, the others about a set or a number.
    """
    blocks: dict[Aspect, NDArray[np.float32]] = {
        "whole": cell_attributes(scene).ravel(),
        "colors": _any_of({_COLORS[thing.color] for thing in scene.objects}, len(COLORS)),
        "shapes": _any_of({_SHAPES[thing.shape] for thing in scene.objects}, len(SHAPES)),
        "count": _any_of({len(scene.objects) - 1}, MAX_OBJECTS),
        "positions": _any_of({thing.cell for thing in scene.objects}, NUM_CELLS),
    }
    asked = [np.full(length, name == aspect) for name, length in _BLOCKS.items()]
    return np.concatenate([blocks[name] for name in _BLOCKS]), np.concatenate(asked)
