"""How long a text is at least once its letters and marks are composed (Unicode's NFC), without composing all of it.

In: a text, and a length that is enough to know. Out: a lower bound of its bytes, and how many characters it took. It
works in short slices: composing takes the square of a run of marks in time, and holds Python's global lock.
"""

import unicodedata
from collections.abc import Iterator
from typing import Literal

SLICE_CHARS = 1024

SEAM_BYTES = 24
"""What composing across the seam of two slices can save: a letter with at most three marks, or a Hangul syllable."""


def composed_bytes(text: str, enough_bytes: int, side: Literal["left", "right"] = "right") -> tuple[int, int]:
    """Count from one end until it is enough.

    Args:
        text: any text.
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


def _slices(text: str, side: Literal["left", "right"]) -> Iterator[str]:
    starts = range(0, len(text), SLICE_CHARS)
    if side == "right":
        return (text[start : start + SLICE_CHARS] for start in starts)
    return (text[max(0, len(text) - start - SLICE_CHARS) : len(text) - start] for start in starts)


def _bytes(piece: str) -> int:
    return len(piece) if piece.isascii() else len(unicodedata.normalize("NFC", piece).encode())
