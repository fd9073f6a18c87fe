"""A page of a PDF as an image: known by the file, its number and its size, nothing rendered.

In: encoded bytes, and what a decoder's process has read of the page. Out: a `PageItem`. Knows no decoder.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from service.media.container import OpenFile
from service.media.error_location import ErrorLocation
from service.media.image.image_file import PixelItem
from service.media.item import SentAs, Size
from service.media.key import page_digest
from service.media.resize.image_rule import ImageRule

MAX_DPI = 300
"""A page is rendered no finer: at this resolution scanners and printers work."""
POINTS_PER_INCH = 72
"""Units of a page's size (ISO 32000-2, 8.3.2.3)."""

BYTES_PER_PIXEL = 16
"""Memory of a page per rendered pixel: PDFium's bitmap and layers above it, one in RGB, and the resize."""

NOT_A_PDF = "The file is no PDF: only `application/pdf` is read."
UNREADABLE = "The PDF cannot be read: the file is damaged, cut short, or its page cannot be rendered."
LACKS: Mapping[str, str] = {
    "password": "The PDF is encrypted, and opens with a password only; send it without one.",
    "xfa": "The PDF is a dynamic XFA form, whose pages only Adobe's programs draw; print it to a plain PDF first.",
}
"""Why a file that is sound has no pages for us."""

MAGIC = b"%PDF-"
HEAD_BYTES = 1024
"""Within which a PDF names itself by `MAGIC`; scanners and mailers put bytes before it."""


class PageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about a file and one of its pages."""

    num_pages: int
    width_pt: float = 0.0
    """Width as it is shown, in points; 0 where there is no such page."""
    height_pt: float = 0.0
    lacks: Literal["", "password", "xfa"] = ""
    """Reason for which its pages cannot be drawn, a key of `LACKS`."""


@dataclass(frozen=True, slots=True)
class OpenPage(OpenFile[Literal["pdf"], PageInfo]):
    """A PDF of which one page has been looked at; pages are counted from 1."""

    page: int


@dataclass(frozen=True, slots=True)
class Raster:
    """Raster of a page, before it is resized as an image of that size is."""

    scale: float
    """Pixels per point."""
    size: Size
    """Height and width, pixels."""

    @classmethod
    def of(cls, info: PageInfo, max_pixels: int) -> "Raster":
        """As fine as a model sees, but no finer than `MAX_DPI`: ``scale = min(300 / 72, sqrt(max_pixels / area))``.

        Sides are rounded up, as pypdfium2's `PdfPage.render(scale=...)` has it.
        """
        scale = min(MAX_DPI / POINTS_PER_INCH, math.sqrt(max_pixels / (info.width_pt * info.height_pt)))
        return cls(scale, (math.ceil(info.height_pt * scale), math.ceil(info.width_pt * scale)))

    def num_render_bytes(self, encoded: bytes) -> int:
        """Memory that rendering takes."""
        height, width = self.size
        return height * width * BYTES_PER_PIXEL + 2 * len(encoded)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageItem(PixelItem):
    """One page of a request, a `MediaItem`; pages that give the same pixels are equal."""

    file: OpenPage
    raster: Raster

    @classmethod
    def of(cls, file: OpenPage, rule: ImageRule, location: ErrorLocation, *, salt: bytes = b"") -> "PageItem":
        """A page as a model sees it."""
        raster = Raster.of(file.info, rule.max_pixels)
        plan, patches = rule.plan(*raster.size, location), rule.patches
        grid_thw = patches.grid_thw(*plan.size)
        return cls(
            file=file,
            raster=raster,
            digest=page_digest(file.identity, file.page, raster.size, rule, tenant_salt=salt),
            size=plan.size,
            grid_thw=grid_thw,
            num_tokens=patches.num_tokens(grid_thw),
            framing=plan.framing,
            salt=salt,
            location=location,
        )

    @property
    def identity(self) -> bytes:
        """The file alone; no name is bound to a page."""
        return self.file.identity

    @property
    def num_stored_bytes(self) -> int:
        """Bytes of the file."""
        return len(self.file.encoded)

    @property
    def sent_as(self) -> SentAs:
        """`pdf`, and the size that the page is rendered at."""
        height, width = self.raster.size
        return SentAs("pdf", width, height)


def check_head(encoded: bytes, location: ErrorLocation) -> None:
    """Refuse what does not say that it is a PDF."""
    if MAGIC not in encoded[:HEAD_BYTES]:
        location.refuse("media_undecodable", NOT_A_PDF)


def check_page(info: PageInfo, page: int, location: ErrorLocation, page_location: ErrorLocation) -> None:
    """Refuse a file whose pages are not to be had, and a page that there is not.

    Args:
        page: wanted, counted from 1.
    """
    if info.lacks:
        location.refuse("media_undecodable", LACKS[info.lacks])
    if info.num_pages == 0:
        location.refuse("media_undecodable", UNREADABLE)
    if page > info.num_pages:
        pages = "1 page" if info.num_pages == 1 else f"{info.num_pages} pages"
        page_location.refuse("invalid_request", f"`{page_location.param}`: got {page}; the PDF has {pages}.")
    if not (0 < info.width_pt < math.inf and 0 < info.height_pt < math.inf):
        location.refuse("media_undecodable", UNREADABLE)
