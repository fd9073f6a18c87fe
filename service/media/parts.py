"""What an image file consists of, found before any decoder sees it, and how many parts it may have.

Decoders walk over segments, chunks and blocks in Python, hold the lock meanwhile and keep what they find: a file of
nothing else costs seconds and hundreds of megabytes. So they are counted here, and only what pixels need goes on.
"""

from dataclasses import dataclass

Size = tuple[int, int]
"""Width and height, in this order."""

Stretch = tuple[int, int]
"""Where something begins in a file, and where it ends."""

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
    """What a walk over a file found.

    Attributes:
        size: width and height as declared.
        needed: what a decoder needs of it, in order; joined, it is a file again.
        exif: where the TIFF part of its EXIF is.
        num_scans: how often a decoder goes over all of its pixels.
    """

    size: Size
    needed: tuple[Stretch, ...]
    exif: Stretch = NOWHERE
    num_scans: int = 1
