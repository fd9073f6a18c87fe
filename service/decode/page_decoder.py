"""Pages of PDF files, always in processes that can be killed; they start with the first file.

The front does not import pypdfium2.
"""

import numpy as np
from numpy.typing import NDArray

from service.decode.isolated import IsolatedDecoder
from service.media.error_location import ErrorLocation
from service.media.page.page_file import UNREADABLE, PageInfo, PageItem, Raster
from service.media.resize.resize import Framing
from service.workers import programs
from service.workers.messages import PageTask


class PageDecoder(IsolatedDecoder):
    """Sizes and pixels of pages, within a budget and a deadline."""

    command = programs.PAGES
    what = "PDF"
    unreadable = UNREADABLE

    async def info(self, encoded: bytes, page: int, location: ErrorLocation) -> PageInfo:
        """Read the number of pages and the size of one.

        Args:
            page: counted from 1.
        """
        task = PageTask(encoded=encoded, page=page)
        end, _ = await self.run(task, 0, location, num_bytes=2 * len(encoded), cost=len(encoded))
        return end.page or location.refuse("media_undecodable", self.unreadable)

    async def image(self, encoded: bytes, page: int, raster: Raster, location: ErrorLocation) -> NDArray[np.uint8]:
        """Render a page, without a resize, to RGB [height, width, 3].

        Args:
            page: counted from 1.
        """
        size, num_bytes = raster.size, raster.num_render_bytes(encoded)
        framing = Framing((size,))
        task = PageTask(encoded=encoded, page=page, scale=raster.scale, raster_size=size, size=size, framing=framing)
        _, pixels = await self.run(task, size[0] * size[1] * 3, location, num_bytes=num_bytes, cost=num_bytes)
        return pixels.reshape(*size, 3)

    async def pixels(self, item: PageItem) -> NDArray[np.uint8]:
        """Render a page at the model's size: `item.num_slot_bytes` bytes of RGB."""
        task = PageTask(
            encoded=item.file.encoded,
            page=item.file.page,
            scale=item.raster.scale,
            raster_size=item.raster.size,
            size=item.size,
            framing=item.framing,
        )
        num_bytes = item.raster.num_render_bytes(item.file.encoded)
        _, pixels = await self.run(task, item.num_slot_bytes, item.location, num_bytes=num_bytes, cost=num_bytes)
        return pixels
