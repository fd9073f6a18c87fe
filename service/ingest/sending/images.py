"""Images of items as requests have them."""

import base64
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.ingest.errors import FailureReason, FileError
from service.ingest.item import ImageInput
from service.ingest.pages.page_image import PageImage
from service.ingest.pages.pdf_processes import PdfProcesses
from service.ingest.source_file import open_regular

PNG_LEVEL = 1
"""Of zlib: a page or frame is sent once, mostly to the same machine."""
NO_IMAGES = "the model takes no images; --pages text embeds the text of PDFs"


@dataclass(frozen=True, slots=True)
class LoadedImage:
    """An image as a request has it.

    Attributes:
        url: a URL, or the base64 of its bytes.
        name: uuid made from the content; empty for a URL, whose content may change.
        file_digest: SHA-256 of the file that it came from; empty without one.
    """

    url: str
    name: str
    file_digest: bytes = b""


@dataclass(frozen=True, slots=True)
class ImageLoader:
    """Reads image files and renders pages.

    Attributes:
        max_bytes: of an encoded image.
        max_pixels: that the model sees of an image; 0 of one that takes none.
    """

    max_bytes: int
    max_pixels: int
    processes: PdfProcesses

    def load(self, image: ImageInput) -> LoadedImage:
        """An item's image. Blocks.

        Raises:
            FileError: the image has more than `max_bytes`, is gone or cannot be read.
        """
        match image:
            case str(url) if url.startswith("data:"):
                return LoadedImage(url, _name(hashlib.sha256(url.encode()).digest()))
            case str(url):
                return LoadedImage(url, "")
            case bytes(content):
                return self._loaded(content)
            case Path() as path:
                return self._loaded(self._read(path), is_file=True)
            case PageImage() as page:
                return self._rendered(page)

    def _loaded(self, content: bytes, *, is_file: bool = False) -> LoadedImage:
        if len(content) > self.max_bytes:
            raise self._too_large(len(content))
        digest = hashlib.sha256(content).digest()
        return LoadedImage(base64.b64encode(content).decode(), _name(digest), digest if is_file else b"")

    def _rendered(self, page: PageImage) -> LoadedImage:
        if not self.max_pixels:
            raise FileError(FailureReason("unsupported_modality", NO_IMAGES))
        with self.processes.process(page.file) as process:
            pixels, digest = process.render(page, self.max_pixels), process.digest
        loaded = self._loaded(png(pixels))
        return LoadedImage(loaded.url, loaded.name, digest)

    def _read(self, path: Path) -> bytes:
        try:
            with open_regular(path) as file:
                content = file.read(self.max_bytes + 1)
                if len(content) <= self.max_bytes:
                    return content
                num_bytes = path.stat().st_size
        except OSError as error:
            raise FileError(FailureReason("unreadable_file", f"{path.name}: {error.strerror}")) from None
        raise self._too_large(num_bytes)

    def _too_large(self, num_bytes: int) -> FileError:
        message = f"the image has {num_bytes} bytes; the server takes at most {self.max_bytes}"
        return FileError(FailureReason("media_too_large", message))


def png(pixels: NDArray[np.uint8]) -> bytes:
    """RGB [height, width, 3] as a file, exactly."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=PNG_LEVEL)
    return file.getvalue()


def _name(digest: bytes) -> str:
    return f"sha256:{digest.hex()}"
