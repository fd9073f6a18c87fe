"""The tokens that stand for an image of tiles: names of rows and columns, newlines, and the whole image at the end.

In: tokenizer.json. Out: the ids of a block of any size. Both processes read it; it imports no torch.

Source: transformers 5.23 `ColModernVBertProcessor.replace_image_token`, as Idefics3 has it.
"""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tokenizers import Tokenizer

from service.checkpoint.json_files import CheckpointError

FAKE, IMAGE, GLOBAL = "<fake_token_around_image>", "<image>", "<global-img>"


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """Ids of a checkpoint.

    Attributes:
        image: stands for one visual token.
        fake: in front of each tile, and after the whole image.
        whole: names the whole image.
        places: names the tile of a row and a column, both from 0.
        line: of a newline.
        last_line: of two.
    """

    image: int
    fake: int
    whole: int
    places: tuple[tuple[int, ...], ...]
    line: tuple[int, ...]
    last_line: tuple[int, ...]

    @classmethod
    def read(cls, folder: Path, most_tiles: int) -> "ImageBlock":
        """The tokens of at most so many tiles in a row and in a column; a block must be read as its parts are."""
        path = folder / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(path))
        added = {token.content: token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
        names = [[place(row, column) for column in range(most_tiles)] for row in range(most_tiles)]
        if missing := [name for name in (FAKE, IMAGE, GLOBAL, *chain.from_iterable(names)) if name not in added]:
            raise CheckpointError(f"{path} lacks the added tokens {', '.join(missing[:3])}")
        places = tuple(tuple(added[name] for name in row) for row in names)
        lines = (tuple(tokenizer.encode("\n" * num, add_special_tokens=False).ids) for num in (1, 2))
        block = cls(added[IMAGE], added[FAKE], added[GLOBAL], places, *lines)
        for rows, columns in {(1, 1), (min(2, most_tiles), most_tiles)}:
            whole = tokenizer.encode(block_text(rows, columns, 2), add_special_tokens=False).ids
            if whole != block.ids(rows, columns, 2):
                raise CheckpointError(f"{path} joins tokens of an image of {rows} x {columns} tiles")
        return block

    def ids(self, rows: int, columns: int, tile_tokens: int) -> list[int]:
        """A block's ids. A lone tile is the whole image."""
        found, seen = list[int](), [self.image] * tile_tokens
        for row in range(rows if rows * columns > 1 else 0):
            for column in range(columns):
                found += [self.fake, self.places[row][column], *seen]
            found += self.line if row < rows - 1 else self.last_line
        return [*found, self.fake, self.whole, *seen, self.fake]


@dataclass(frozen=True, slots=True)
class BareBlock:
    """The block of an image that is one tile, with nothing around its visual tokens, as PaliGemma has it."""

    image: int

    def ids(self, rows: int, columns: int, tile_tokens: int) -> list[int]:
        """See `ImageBlock.ids`."""
        return [self.image] * tile_tokens


@dataclass(frozen=True, slots=True)
class LineBlock:
    """The block of an image that is lines of visual tokens, as Mistral 3 has it.

    Attributes:
        line_end: after each line but the last.
        image_end: after the last line.
    """

    image: int
    line_end: int
    image_end: int

    def ids(self, rows: int, columns: int, tile_tokens: int) -> list[int]:
        """See `ImageBlock.ids`."""
        line = [self.image] * columns
        return [*[*line, self.line_end] * (rows - 1), *line, self.image_end]


def place(row: int, column: int) -> str:
    """The token that names a tile; both numbers are from 0."""
    return f"<row_{row + 1}_col_{column + 1}>"


def block_text(rows: int, columns: int, tile_tokens: int) -> str:
    """A block as the reference writes it, before it is tokenized."""
    seen = IMAGE * tile_tokens
    tiles = (
        "".join(f"{FAKE}{place(row, column)}{seen}" for column in range(columns)) + "\n"
        for row in range(rows if rows * columns > 1 else 0)
    )
    before = "\n" if rows * columns > 1 else ""
    return f"{''.join(tiles)}{before}{FAKE}{GLOBAL}{seen}{FAKE}"
