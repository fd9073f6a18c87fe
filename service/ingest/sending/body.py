"""Builds the body of a request to `/v1/embeddings`: each ask is a conversation with its own instruction.

An image is sent once, with a uuid made from its content; further instructions for the same image refer to the uuid. So
the image is read, sent, decoded and encoded once.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from service.ingest.errors import FailureReason
from service.ingest.item import Ask, SourceItem
from service.ingest.plan import Plan
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


def request_body(asks: Sequence[Ask], images: Mapping[str, LoadedImage], model: str, plan: Plan) -> bytes:
    """The request for `asks`, in order, with images by the item's id; asks of one image are adjacent."""
    uses = Counter(image.name for ask in asks if (image := images.get(ask.item.id)))
    sent: set[str] = set()
    conversations = []
    for ask in asks:
        image = images.get(ask.item.id)
        parts = [] if image is None else [_part(image, sent, is_shared=uses[image.name] > 1)]
        if ask.item.text is not None:
            parts.append({"type": "text", "text": ask.item.text})
        system = [] if ask.instruction is None else [{"role": "system", "content": ask.instruction}]
        conversations.append([*system, {"role": "user", "content": parts}])
    return orjson.dumps(_settings(model, plan) | {"messages": conversations})


def _part(image: LoadedImage, sent: set[str], *, is_shared: bool) -> dict[str, Any]:
    """The image, or its uuid if it was `sent` before. Only shared images get one, since the server keeps uuids."""
    part: dict[str, Any] = {"type": "image_url"}
    if image.name not in sent:
        part["image_url"] = {"url": image.url}
    if image.name is not None and is_shared:
        part["uuid"] = image.name
        sent.add(image.name)
    return part


def _settings(model: str, plan: Plan) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "model": model,
        "dimensions": plan.dimensions,
        "normalize": plan.normalize,
        "encoding_format": "base64",
        "on_error": "per_item",
    }
    return settings | ({"truncate_prompt_tokens": -1} if plan.truncate else {})


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
