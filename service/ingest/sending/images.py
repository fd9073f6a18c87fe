"""Images of items as requests have them."""

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from service.ingest.errors import FailureReason
from service.ingest.item import SourceItem
from service.ingest.sending.version import open_regular


class ImageError(Exception):
    """An image file cannot be sent; `reason` says why."""

    def __init__(self, reason: FailureReason) -> None:
        super().__init__(reason.message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class LoadedImage:
    """An image as a request has it.

    Attributes:
        url: a URL, or the base64 of its bytes.
        name: uuid made from the content; None for a URL, whose content may change.
    """

    url: str
    name: str | None


def load_image(item: SourceItem, max_bytes: int) -> LoadedImage | None:
    """Read an item's image, if it has one. Blocks.

    Raises:
        ImageError: the file has more than `max_bytes`, is gone or cannot be read.
    """
    image = item.image
    if image is None:
        return None
    if isinstance(image, str):
        return LoadedImage(image, _name(image.encode()) if image.startswith("data:") else None)
    content = image if isinstance(image, bytes) else _read(image, max_bytes)
    if len(content) > max_bytes:
        raise ImageError(_too_large(len(content), max_bytes))
    return LoadedImage(base64.b64encode(content).decode(), _name(content))


def _read(path: Path, max_bytes: int) -> bytes:
    try:
        with open_regular(path) as file:
            content = file.read(max_bytes + 1)
            if len(content) <= max_bytes:
                return content
            num_bytes = path.stat().st_size
    except OSError as error:
        raise ImageError(FailureReason("unreadable_file", f"{path.name}: {error.strerror}")) from None
    raise ImageError(_too_large(num_bytes, max_bytes))


def _too_large(num_bytes: int, max_bytes: int) -> FailureReason:
    return FailureReason("media_too_large", f"the image has {num_bytes} bytes; the server takes at most {max_bytes}")


def _name(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
