"""Bounds on a text's tokens, so that a huge text costs no more than the longest that can be embedded.

Where tokens cover all bytes of a text (byte-level vocabularies), a text has at least its bytes over those of the
longest token. Other tokenizers drop white space and accents, and make one unknown token of a word without end: there no
length promises a second token, and characters are counted instead.
"""

import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from service.prompt.truncation import Side

CHARS_PER_TOKEN = 128
"""Characters read for each token of the limit where no bound follows from bytes: WordPiece's longest word has 100."""
LEAST_CHARS = 16_384
"""Characters that are always read: some 10 ms of work, 50 for the worst there are."""
SLICE_CHARS = 1024

ASCII_BYTES = 3
"""Most bytes that an ASCII character can become: some vocabularies write a blank as `▁`, and put one before a text."""
COMPOSED_BYTES = 33
"""Most bytes that any character can become once it is composed, by any form: U+FDFA as NFKC (Unicode annex 15)."""

SEAM_BYTES = 24
"""Bytes that composing across a seam of slices can save: a letter with at most three marks, or a Hangul syllable."""


def most_tokens(texts: Sequence[str]) -> int:
    """No text has more tokens than this: one for each byte that it has once it is normalized."""
    num_chars = max(map(len, texts), default=0)
    return (num_chars + 1) * (ASCII_BYTES if all(map(str.isascii, texts)) else COMPOSED_BYTES) if num_chars else 0


@dataclass(frozen=True, slots=True)
class TextBound:
    """Bounds on the tokens of a text before it is tokenized: a token may cover any number of characters."""

    def max_chars(self, num_tokens: int) -> int:
        """Characters beyond which a text is refused where so many tokens are the limit, and none is to be cut."""
        return max(LEAST_CHARS, CHARS_PER_TOKEN * num_tokens)

    def least_tokens(self, text: str, enough: int = sys.maxsize) -> int:
        """Fewest tokens that a text can have: 0, nothing is known; beyond `enough` the number does not matter."""
        return 0

    def clip(self, text: str, num_tokens: int, side: Side) -> str:
        """The part of a text that so many tokens can reach; `right` keeps its beginning, `left` its end."""
        return _end(text, self.max_chars(num_tokens), side)


@dataclass(frozen=True, slots=True)
class BytesBound(TextBound):
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

    def least_tokens(self, text: str, enough: int = sys.maxsize) -> int:
        """Its bytes over those of the longest token, rounded up."""
        num_bytes, _ = least_bytes(text, enough * self.longest_token_bytes, "right", composes=self.composes)
        return -(-num_bytes // self.longest_token_bytes)

    def clip(self, text: str, num_tokens: int, side: Side) -> str:
        """A part that has at least `num_tokens` tokens, or all."""
        _, num_chars = least_bytes(text, num_tokens * self.longest_token_bytes, side, composes=self.composes)
        return _end(text, num_chars, side)


@dataclass(frozen=True, slots=True)
class MedianBound(TextBound):
    """A text is cut by characters first, as model2vec does it: ``num_tokens · median`` of the entries' lengths."""

    median: int

    def max_chars(self, num_tokens: int) -> int:
        """Characters that are read at all: a text with more of them is too long, however few its tokens are."""
        return self.median * num_tokens


def _end(text: str, num_chars: int, side: Side) -> str:
    return text[:num_chars] if side == "right" else text[max(0, len(text) - num_chars) :]


def least_bytes(text: str, enough_bytes: int, side: Side, *, composes: bool) -> tuple[int, int]:
    """A lower bound of the UTF-8 bytes of a text as the normalizer leaves it.

    Where letters and marks are composed (Unicode's NFC) it works in short slices, from one end until it is enough:
    composing takes the square of a run of marks in time, and holds Python's global lock.

    Args:
        enough_bytes: where to stop counting.
        side: `right` counts from the beginning, `left` from the end: which side would be cut off.

    Returns:
        The bound, and the characters that were enough for it.
    """
    if not composes:
        return len(text.encode()), min(len(text), enough_bytes)  # a character has a byte at least
    num_bytes = num_chars = 0
    was_plain = True
    while num_chars < len(text) and num_bytes < enough_bytes:
        end = len(text) - num_chars
        piece = text[num_chars : num_chars + SLICE_CHARS] if side == "right" else text[max(0, end - SLICE_CHARS) : end]
        is_plain = piece.isascii()
        seam = 0 if num_chars == 0 or (is_plain and was_plain) else SEAM_BYTES
        num_piece_bytes = len(piece) if is_plain else len(unicodedata.normalize("NFC", piece).encode())
        num_bytes += max(0, num_piece_bytes - seam)
        num_chars += len(piece)
        was_plain = is_plain
    return num_bytes, num_chars
