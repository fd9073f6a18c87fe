"""Line 1 again, for PDFs: broken ones through PDFium in its own process, sizes and pixels."""

import asyncio
import random
import time
from functools import cache
from pathlib import Path

from service.decode.page_decoder import PageDecoder
from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.page.page_file import OpenPage, PageItem, check_head, check_page
from service.media.resize.image_rule import PixelRule
from service.workers.messages import PageTask
from tests.pdf_file import (
    NEEDS_APPEARANCES,
    TYPED,
    annotated,
    boundless,
    endless,
    form,
    paragraph,
    pdf,
    raw,
    scan,
    slide,
)
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.mutants.broken_files import CODES, try_broken

RULE = PixelRule(max_pixels=128 * 128)
DEADLINE_S = 5.0
TEXT_BYTES = 4096
MAX_MEMORY_BYTES = 128 << 20
SEED = 25
PLACE, PAGE_PLACE = ErrorLocation("file", 0), ErrorLocation("page", 0)


@cache
def seeds() -> tuple[bytes, ...]:
    """Letters, forms, a scan, slides, and forms that draw one another, by hand and by a writer that compresses."""
    several = raw([b"/F1 Do /F2 Do", b"1 0 0 rg /F2 Do", b"0 0 300 300 re f 0 0 100 0 200 200 c S"])
    field = annotated(b"/Subtype/Widget/F 4" + TYPED % b"PAID", b"", NEEDS_APPEARANCES)
    return pdf(3, paragraph), pdf(1, form), pdf(1, scan, (200, 300)), pdf(2, slide), several, field


async def page_of(decoder: PageDecoder, encoded: bytes, page: int) -> int:
    """Bytes of a page's pixels over what its slot takes, the way that a request goes; 0 where it is right.

    Its text is read too, as `cenote ingest` does it.
    """
    check_head(encoded, PLACE)
    info = await decoder.info(encoded, page, PLACE)
    check_page(info, page, PLACE, PAGE_PLACE)
    await decoder.run(
        PageTask(encoded=encoded, page=page, num_text_bytes=TEXT_BYTES), TEXT_BYTES, PLACE, num_bytes=0, cost=0
    )
    item = PageItem.of(OpenPage(encoded, "pdf", info, b"", page), RULE, PLACE)
    return len(await decoder.pixels(item)) - item.num_slot_bytes


def _decoder() -> PageDecoder:
    return PageDecoder(num_workers=1, max_bytes=MAX_MEMORY_BYTES, deadline_s=DEADLINE_S)


async def try_all(size: int) -> Result:
    """Broken files; then two without end."""
    decoder, draw = _decoder(), random.Random(SEED)

    async def attempt(encoded: bytes) -> str:
        rest = await page_of(decoder, encoded, draw.choice((1, 1, 2)))
        return f"{rest} bytes too many" if rest else ""

    tried = await try_broken(size, draw, seeds(), decoder, attempt, ("file", "page"), (*CODES, "invalid_request"))
    decoder = _decoder()
    failures = await _ended(decoder, endless()) + await _ended(decoder, boundless())
    await asyncio.to_thread(decoder.close)
    return Result(size + 2, tried.num_failed + len(failures), [*failures, *tried.notes])


async def _ended(decoder: PageDecoder, encoded: bytes) -> list[str]:
    """A page without end is refused when its time or its memory is over, and the next one is rendered."""
    began_s = time.monotonic()
    try:
        await page_of(decoder, encoded, 1)
        return ["a page without end was rendered"]
    except MediaError as error:
        took_s = time.monotonic() - began_s
        is_late = took_s > 2 * DEADLINE_S + 2  # where its process ended for want of memory, it had a second try
        found = [f"{error.code} after {took_s:.1f} s"] if is_late or error.code != CODES[0] else []
    return found + (["no page after it"] if await page_of(decoder, seeds()[0], 1) else [])


@line(
    1,
    "broken PDFs through PDFium (6 writers), pixels and text, and two without end",
    "pixels or 4xx; 0 processes lost or late but for the last two",
    sizes=(30_000, 300_000),
)
def run(size: int, folder: Path) -> Result:
    """Try `size` broken files."""
    return asyncio.run(try_all(size))
