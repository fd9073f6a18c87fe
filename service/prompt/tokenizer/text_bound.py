"""Bounds on a text's tokens, so that a huge text costs no more than the longest that can be embedded.

Where tokens cover all bytes of a text (byte-level vocabularies), a text has at least its bytes over those of the
longest token. Other tokenizers drop white space and accents, and make one unknown token of a word without end: there no
length promises a second token, and characters are counted instead.
"""

import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

CHARS_PER_TOKEN = 128
"""Characters read for each token of the limit where no bound follows from bytes: WordPiece's longest word has 100."""
LEAST_CHARS = 16_384
"""Characters that are always read: some 10 ms of work, 50 for the worst there are."""
SLICE_CHARS = 1024

SEAM_BYTES = 24
"""Bytes that composing across a seam of slices can save: a letter with at most three marks, or a Hangul syllable."""

Side = Literal["left", "right"]


class TextBound(Protocol):
    """Bounds on the tokens of a text before it is tokenized."""

    def max_chars(self, num_tokens: int) -> int:
        """Characters beyond which a text is refused where so many tokens are the limit, and none is to be cut."""
        ...

    def least_tokens(self, text: str, enough: int) -> int:
        """Fewest tokens that a text can have; beyond `enough` the number does not matter."""
        ...

    def clip(self, text: str, num_tokens: int, side: Side) -> str:
        """The part of a text that so many tokens can reach; `right` keeps its beginning, `left` its end."""
        ...


@dataclass(frozen=True, slots=True)
class BytesBound:
    """A token covers at most the bytes of the longest.

    Attributes:
        longest_token_bytes: bytes of the longest vocabulary entry as it is written: what it covers or more.
        composes: whether letters and marks are composed before.
    """

    longest_token_bytes: int
    composes: bool

    def max_chars(self, num_tokens: int) -> int:
        """No bound: `least_tokens` says it better."""
        return sys.maxsize

    def least_tokens(self, text: str, enough: int) -> int:
        """Its bytes over those of the longest token, rounded up."""
        num_bytes, _ = self._measure(text, enough * self.longest_token_bytes, "right")
        return -(-num_bytes // self.longest_token_bytes)

    def clip(self, text: str, num_tokens: int, side: Side) -> str:
        """A part that has at least `num_tokens` tokens, or all."""
        _, num_chars = self._measure(text, num_tokens * self.longest_token_bytes, side)
        return _end(text, num_chars, side)

    def _measure(self, text: str, enough_bytes: int, side: Side) -> tuple[int, int]:
        """Bytes that a text has at least as the normalizer leaves it, and the characters that were enough."""
        if self.composes:
            return composed_bytes(text, enough_bytes, side)
        return len(text.encode()), min(len(text), enough_bytes)  # a character has a byte at least


@dataclass(frozen=True, slots=True)
class CharsBound:
    """A token may cover any number of characters, so those that are read are counted."""

    def max_chars(self, num_tokens: int) -> int:
        """`CHARS_PER_TOKEN` for each token, and `LEAST_CHARS` at least."""
        return max(LEAST_CHARS, CHARS_PER_TOKEN * num_tokens)

    def least_tokens(self, text: str, enough: int) -> int:
        """Nothing is known."""
        return 0

    def clip(self, text: str, num_tokens: int, side: Side) -> str:
        """The characters that are read."""
        return _end(text, self.max_chars(num_tokens), side)


def _end(text: str, num_chars: int, side: Side) -> str:
    return text[:num_chars] if side == "right" else text[max(0, len(text) - num_chars) :]


def composed_bytes(text: str, enough_bytes: int, side: Side = "right") -> tuple[int, int]:
    """A lower bound of the UTF-8 bytes of a text once its letters and marks are composed (Unicode's NFC).

    Works in short slices, from one end until it is enough: composing takes the square of a run of marks in time, and
    holds Python's global lock.

    Args:
        enough_bytes: where to stop counting.
        side: `right` counts from the beginning, `left` from the end: which side would be cut off.

    Returns:
        A lower bound of the UTF-8 bytes of the composed text, and the characters that it was counted over.
    """
    num_bytes = num_chars = 0
    was_plain = True
    for piece in _slices(text, side):
        is_plain = piece.isascii()
        seam = 0 if num_chars == 0 or (is_plain and was_plain) else SEAM_BYTES
        num_bytes += max(0, _bytes(piece) - seam)
        num_chars += len(piece)
        was_plain = is_plain
        if num_bytes >= enough_bytes:
            break
    return num_bytes, num_chars


def _slices(text: str, side: Side) -> Iterator[str]:
    starts = range(0, len(text), SLICE_CHARS)
    if side == "right":
        return (text[start : start + SLICE_CHARS] for start in starts)
    return (text[max(0, len(text) - start - SLICE_CHARS) : len(text) - start] for start in starts)


def _bytes(piece: str) -> int:
    return len(piece) if piece.isascii() else len(unicodedata.normalize("NFC", piece).encode())
