"""Asks as the body of one request to `/v1/embeddings`: each a conversation with its own instruction.

A picture stands in it once, under a name made of its content; every other instruction of the same picture says the
name alone. So it is read, sent, decoded and encoded once, and its instructions travel together.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from service.ingest.errors import Reason
from service.ingest.item import Ask, Item
from service.ingest.plan import Plan
from service.ingest.version import open_regular


class PictureError(Exception):
    """A picture's file cannot be sent; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class LoadedPicture:
    """What a request says of a picture.

    Attributes:
        url: where it is, or the base64 of its bytes.
        name: of its content; None for an address, behind which there may be another content tomorrow.
    """

    url: str
    name: str | None


def load_picture(item: Item, max_bytes: int) -> LoadedPicture | None:
    """Read an item's picture; None where it has none. Blocks.

    Args:
        item: whose picture.
        max_bytes: what the server takes; a larger file is not read.

    Raises:
        PictureError: the file is too large, has gone or cannot be read.
    """
    picture = item.picture
    if picture is None:
        return None
    if isinstance(picture, str):
        return LoadedPicture(picture, _name(picture.encode()) if picture.startswith("data:") else None)
    content = picture if isinstance(picture, bytes) else _read(picture, max_bytes)
    if len(content) > max_bytes:
        raise PictureError(_too_large(len(content), max_bytes))
    return LoadedPicture(base64.b64encode(content).decode(), _name(content))


def request_body(asks: Sequence[Ask], pictures: Mapping[str, LoadedPicture], model: str, plan: Plan) -> bytes:
    """The request for `asks`, in order.

    Args:
        asks: what to embed; those of one picture stand together.
        pictures: by the item's id.
        model: its name.
        plan: dimensions, normalization, truncation.
    """
    uses = Counter(picture.name for ask in asks if (picture := pictures.get(ask.item.id)))
    sent: set[str] = set()
    conversations = []
    for ask in asks:
        picture = pictures.get(ask.item.id)
        parts = [] if picture is None else [_part(picture, sent, is_shared=uses[picture.name] > 1)]
        if ask.item.text is not None:
            parts.append({"type": "text", "text": ask.item.text})
        system = [] if ask.instruction is None else [{"role": "system", "content": ask.instruction}]
        conversations.append([*system, {"role": "user", "content": parts}])
    return orjson.dumps(_settings(model, plan) | {"messages": conversations})


def _part(picture: LoadedPicture, sent: set[str], *, is_shared: bool) -> dict[str, Any]:
    """The picture, or its name where it was `sent` before; names only what needs one, since the server keeps names."""
    part: dict[str, Any] = {"type": "image_url"}
    if picture.name not in sent:
        part["image_url"] = {"url": picture.url}
    if picture.name is not None and is_shared:
        part["uuid"] = picture.name
        sent.add(picture.name)
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
        raise PictureError(Reason("unreadable_file", f"{path.name}: {error.strerror}")) from None
    raise PictureError(_too_large(num_bytes, max_bytes))


def _too_large(num_bytes: int, max_bytes: int) -> Reason:
    return Reason("media_too_large", f"the picture has {num_bytes} bytes; the server takes at most {max_bytes}")


def _name(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
