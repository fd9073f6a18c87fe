"""Findings of a walk over an image file, and the limits of its parts.

Decoders walk over segments, chunks and blocks in Python, hold the interpreter lock meanwhile and keep what they find: a
file of nothing else costs seconds and hundreds of megabytes. So parts are counted first, and a decoder gets only those
that its pixels depend on.
"""

from dataclasses import dataclass

WidthHeight = tuple[int, int]
"""Width and height, in this order."""

Stretch = tuple[int, int]
"""Start and end of a range of bytes in a file."""

NOWHERE: Stretch = (0, 0)

MAX_PARTS = 1 << 15
"""Segments, chunks or blocks of a file: two for each row of the tallest image, since some encoders write each row as a
chunk of its own. Walking over so many takes 20 ms."""

MAX_FILL_BYTES = 1 << 20
"""Bytes between parts that mean nothing."""


class TooManyPartsError(Exception):
    """The file has more of something than is accepted; the message says of what, and how much is."""

    def __init__(self, what: str = "segments, chunks or blocks", accepted: int = MAX_PARTS) -> None:
        super().__init__(f"The image file has more than {accepted} {what}; at most {accepted} are accepted.")


@dataclass(frozen=True, slots=True)
class Parts:
    """The result of a walk over a file.

    Attributes:
        size: width and height as declared.
        needed: what a decoder needs of it, in order; joined, it is a file again.
        exif: where the TIFF part of its EXIF is.
        num_scans: how often a decoder goes over all of its pixels.
    """

    size: WidthHeight
    needed: tuple[Stretch, ...]
    exif: Stretch = NOWHERE
    num_scans: int = 1
