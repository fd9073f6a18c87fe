"""Resize rule of models that see an image as tiles and, where there are several, as a whole beside them.

Source: transformers 5.23 `Idefics3ImageProcessorPil`: `resize`, `resize_for_vision_encoder`, `split_images`.
"""

import math
from dataclasses import dataclass

from service.media.error_location import ErrorLocation
from service.media.item import GridThw, Patches, Size
from service.media.resize.image_rule import ResizePlan
from service.media.resize.resize import Framing


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePatches(Patches):
    """A grid of tiles. The tokens between them count with those of an image: they have features, too."""

    merge_size: int | None = 1
    tile_tokens: int
    """Visual tokens of a tile."""
    line_tokens: int
    """Tokens of the newline between two rows."""
    last_line_tokens: int
    """Tokens of the two newlines after the last row."""

    def num_tokens(self, grid_thw: GridThw) -> int:
        """A tile has two tokens in front of it; the whole image too, and one after it. A lone tile is the whole."""
        _, rows, columns = grid_thw
        whole = self.tile_tokens + 3
        if rows * columns == 1:
            return whole
        tiles = rows * columns * (self.tile_tokens + 2)
        return tiles + (rows - 1) * self.line_tokens + self.last_line_tokens + whole

    @property
    def formula(self) -> str:
        """Of `num_tokens`, for errors."""
        return f"({self.tile_tokens} + 2) x H x W and the whole image"


@dataclass(frozen=True, slots=True, kw_only=True)
class TileRule:
    """An `ImageRule`: the longer side at one length, then both at multiples of a tile's."""

    tile: int
    """Side of a tile, pixels."""
    longest: int
    """The longer side after the first resize, pixels."""
    resample: int
    """Pillow's number of the filter."""
    patches: TilePatches
    """Of the tiles."""

    @property
    def min_pixels(self) -> int:
        """One tile's."""
        return self.tile**2

    @property
    def max_pixels(self) -> int:
        """All tiles' of a square."""
        return (self.most_tiles * self.tile) ** 2

    @property
    def most_tiles(self) -> int:
        """Tiles along the longer side."""
        return math.ceil(self.longest / self.tile)

    @property
    def key_parts(self) -> tuple[bytes, ...]:
        """The numbers, after the rule's name."""
        return (b"tiles", *(one.to_bytes(8, "little") for one in (self.tile, self.longest, self.resample)))

    def plan(self, height: int, width: int, location: ErrorLocation) -> ResizePlan:
        """Two resizes with the same filter; no shape is refused: a side has one tile at least."""
        first = _first(height, width, self.longest)
        size = _whole_tiles(*first, self.tile)
        return ResizePlan(size, Framing((first, size), self.resample))


def _first(height: int, width: int, longest: int) -> Size:
    """The longer side at `longest`, the other rounded down, then up to an even number."""
    ratio = width / height
    if width >= height:
        short = int(longest / ratio)
        return max(short + short % 2, 1), longest
    short = int(longest * ratio)
    return longest, max(short + short % 2, 1)


def _whole_tiles(height: int, width: int, tile: int) -> Size:
    """Both sides at multiples of a tile's, the longer one first."""
    ratio = width / height
    if width >= height:
        width = math.ceil(width / tile) * tile
        return math.ceil(int(width / ratio) / tile) * tile, width
    height = math.ceil(height / tile) * tile
    return height, math.ceil(int(height * ratio) / tile) * tile
