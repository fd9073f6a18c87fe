"""Images and videos as requests have them; of a video the frames that the model sees, so that no file is sent."""

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from service.ingest.errors import FileError
from service.ingest.files.pdf_process import PdfProcesses
from service.ingest.files.source_file import PageImage, open_regular
from service.ingest.files.video_process import VideoProcesses
from service.ingest.files.video_segment import VideoSegment
from service.ingest.item import Ask, ImageInput
from service.media.video.video_rule import VideoRule

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
        """An item's image. Blocks."""
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
            raise FileError("unsupported_modality", NO_IMAGES)
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
            raise FileError("unreadable_file", f"{path.name}: {error.strerror}") from None
        raise self._too_large(num_bytes)

    def _too_large(self, num_bytes: int) -> FileError:
        return FileError(
            "media_too_large", f"the image has {num_bytes} bytes; the server takes at most {self.max_bytes}"
        )


def png(pixels: NDArray[np.uint8]) -> bytes:
    """RGB [height, width, 3] as a file, exactly."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=PNG_LEVEL)
    return file.getvalue()


def _name(digest: bytes) -> str:
    return f"sha256:{digest.hex()}"


FRAME_BYTES = 64
"""Of a frame in a body, besides its image."""


@dataclass(frozen=True, slots=True)
class LoadedFrames:
    """The frames of a video as a request has them, their times in seconds from its start, and the file's SHA-256."""

    urls: tuple[str, ...]
    times: tuple[float, ...]
    file_digest: bytes


@dataclass(frozen=True, slots=True)
class VideoLoader:
    """Takes frames out of files.

    Attributes:
        rule: which frames the model sees; None of one that takes no video.
        refusal: why it takes none.
    """

    rule: VideoRule | None
    refusal: str
    max_bytes: int
    processes: VideoProcesses

    def load(self, segment: VideoSegment) -> LoadedFrames:
        """The frames of a segment. Blocks."""
        if self.rule is None:
            raise FileError("unsupported_modality", f"{segment.name}: {self.refusal}")
        sampled = segment.sample(self.rule)
        if sampled is None:
            info = segment.video.info
            raise FileError(
                "media_too_large",
                f"{segment.name}: a video of {info.width} x {info.height} pixels has too extreme a shape",
            )
        with self.processes.process(segment.file) as process:
            pixels, digest = process.frames(segment, sampled), process.digest
        urls = tuple(base64.b64encode(png(frame)).decode() for frame in pixels)
        if (num_bytes := sum(map(len, urls)) + len(urls) * FRAME_BYTES) > self.max_bytes:
            message = (
                f"{segment.name}: its {len(urls)} frames are {num_bytes} bytes, and the server takes requests of at "
                f"most {self.max_bytes}; shorter segments (--segment-s) have fewer frames"
            )
            raise FileError("media_too_large", message)
        return LoadedFrames(urls, sampled.times, digest)


LoadedMedia = LoadedImage | LoadedFrames
"""The image or the video of an item."""


def by_instruction(asks: Sequence[Ask]) -> list[list[Ask]]:
    """The asks of each instruction, in order."""
    found: dict[str | None, list[Ask]] = {}
    for ask in asks:
        found.setdefault(ask.instruction, []).append(ask)
    return list(found.values())


def content(
    ask: Ask, media: Mapping[str, LoadedMedia], image_part: Callable[[LoadedImage], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The content parts of an ask: its image or video, then its text."""
    parts = []
    match media.get(ask.item.id):
        case LoadedFrames(urls, times):
            frames = [{"url": url, "time_s": time_s} for url, time_s in zip(urls, times, strict=True)]
            parts.append({"type": "video_frames", "frames": frames})
        case LoadedImage() as image:
            parts.append(image_part(image))
    return parts if ask.item.text is None else [*parts, {"type": "text", "text": ask.item.text}]
