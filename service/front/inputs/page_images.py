"""The first pages of a PDF as PNG files, each at as many pixels as a model sees of a page: what the playground shows.

Such a file has the vector of its page. Rendering is the decoder processes', within their budget and deadline.
"""

import asyncio
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.errors import InputError
from service.front.inputs.checking import refuse_modality
from service.front.inputs.opened_files import NO_PDFIUM
from service.front.inputs.opening import PageOpener
from service.front.inputs.reader import InputReader
from service.media.error_location import ErrorLocation
from service.media.page.page_file import Raster, check_head, check_page
from service.media.source import read_source

MAX_PAGES = 24


@dataclass(frozen=True, slots=True)
class PageImages:
    """Pages of a file.

    Attributes:
        images: PNG files, of the first page and those that follow it.
    """

    num_pages: int
    images: list[bytes]


async def page_images(reader: InputReader, source: str, param: str, *, max_bytes: int) -> PageImages:
    """Render the first pages, one after the other: `MAX_PAGES`, or as many as fit.

    Args:
        source: the PDF, as a data URI or in base64; no URL is opened.
        max_bytes: of all images together; the first page is given whatever its size.

    Raises:
        MediaError: the file is at fault; `index` is that of the page, counted from 0.
        InputError: the model takes no images, or the server cannot read PDFs.
        UnavailableError: a decoder's process was ended from outside.
    """
    model, opener = reader.rules.profile, reader.openers.get("page")
    if model.images is None:
        refuse_modality("a PDF", model.modalities, param)
    if not isinstance(opener, PageOpener):
        raise InputError("invalid_request", f"`{param}`: {NO_PDFIUM}", param=param)
    location, max_file = ErrorLocation(param), opener.max_encoded_bytes
    encoded = await asyncio.to_thread(read_source, source, max_bytes=max_file, location=location, what="PDF")
    check_head(encoded, location)
    num_pages, num_bytes = 1, 0
    images: list[bytes] = []
    while len(images) < min(num_pages, MAX_PAGES):
        page, location = len(images) + 1, ErrorLocation(param, len(images))
        info = await opener.decoder.info(encoded, page, location)
        check_page(info, page, location, location)
        raster, num_pages = Raster.of(info, model.images.pixel_rule.max_pixels), info.num_pages
        model.images.pixel_rule.plan(*raster.size, location)
        image = await asyncio.to_thread(_png, await opener.decoder.image(encoded, page, raster, location))
        num_bytes += len(image)
        if images and num_bytes > max_bytes:
            break
        images.append(image)
    return PageImages(num_pages, images)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()
