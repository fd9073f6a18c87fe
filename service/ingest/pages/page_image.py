"""A page of a PDF file as the image of an item: rendered when it is sent."""

from dataclasses import dataclass
from typing import Literal

from service.ingest.source_file import SourceFile

PageContent = Literal["image", "text", "fused"]
"""Content of a page to embed: its image, its text layer, or both as one input."""


@dataclass(frozen=True, slots=True)
class PageImage:
    """One page.

    Attributes:
        page: its number, counted from 1.
        width_pt: width as it is shown, in points.
        height_pt: likewise.
    """

    file: SourceFile
    page: int
    width_pt: float
    height_pt: float
