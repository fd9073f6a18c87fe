"""A page of a PDF file as the image of an item: rendered when it is sent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PageContent = Literal["image", "text", "fused"]
"""What is embedded of a page: its image, its text layer, or both as one input."""


@dataclass(frozen=True, slots=True)
class PdfFile:
    """A file as it was when the source looked at it.

    Attributes:
        name: in ids and errors.
        stamp: modification time, see `version.py`.
        num_bytes: size.
    """

    path: Path
    name: str
    stamp: bytes
    num_bytes: int


@dataclass(frozen=True, slots=True)
class PageImage:
    """One page.

    Attributes:
        page: its number, counted from 1.
        width_pt: width as it is shown, in points.
        height_pt: likewise.
    """

    file: PdfFile
    page: int
    width_pt: float
    height_pt: float
