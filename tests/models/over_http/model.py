"""A model of the contract over HTTP: a checkpoint, its reference, and what a server must say of it."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from tests.builders import image_bytes
from tests.conftest import data_uri, image_part, text_part
from tests.models.text.texts import TEXTS

Item = str | Image.Image | bytes
"""A text, an image by Pillow or by its file, or an audio file, whose bytes begin with RIFF."""
Kind = Literal["float", "multi_float", "sparse", "score"]
Side = Literal["query", "document"]
FEW = list(TEXTS[:12])
QUESTIONS = ["How do I reset my password?", "Der Fuchs, und wo der Hund?", "word " * 60]
Refused = tuple[str, dict[str, Any], str, str, str]
"""Route, body, code and param of the error, and words of its message."""


@dataclass(frozen=True)
class Model:
    """One checkpoint.

    Attributes:
        make: writes it into a folder; the folder that is served, and its reference.
        vectors: by reference, side and items what it must give; absent for what gives scores alone.
        scores: by reference, `[queries, documents]`.
        queries: texts of the one side.
        documents: items of the other.
        card: what `/v1/models` says.
        kind: embedding type of `/v2/embed`.
        refused: what must not pass.
        bad: a request with `on_error`, the place of its bad item, and what stands there.
        too_large: a request whose answer would be.
        flags: of the server.
        is_slow: others of its kind are tried fast.
    """

    make: Callable[[Path], tuple[Path, Any]]
    card: dict[str, Any]
    kind: Kind
    vectors: Callable[[Any, Side, Sequence[Any]], Sequence[np.ndarray]] | None = None
    scores: Callable[[Any, list[str], Sequence[Any]], np.ndarray] | None = None
    queries: list[str] = field(default_factory=lambda: QUESTIONS)
    documents: Sequence[Item] = tuple(FEW)
    refused: tuple[Refused, ...] = ()
    bad: tuple[dict[str, Any], int, dict[str, Any]] | None = None
    too_large: dict[str, Any] | None = None
    flags: tuple[str, ...] = ()
    is_slow: bool = True


def part(item: Item) -> dict[str, Any]:
    """A text or an image in a request."""
    if isinstance(item, str):
        return text_part(item)
    if isinstance(item, bytes) and item.startswith(b"RIFF"):
        return {"type": "input_audio", "input_audio": {"data": base64.b64encode(item).decode(), "format": "wav"}}
    return image_part(data_uri(item if isinstance(item, bytes) else image_bytes(item)))


def items(found: Sequence[Item]) -> list[dict[str, Any]]:
    return [{"content": [part(one)]} for one in found]


def made(make: Callable[[Path], Path], reference: Callable[[Path], Any], name: str) -> Callable[..., tuple[Path, Any]]:
    """Writes a checkpoint into a folder of that name, and has the reference read it."""

    def write(folder: Path) -> tuple[Path, Any]:
        found = make(folder / name)
        return found, reference(found)

    return write


def both_sides(**how: Any) -> Callable[[Any, Side, Sequence[str]], Sequence[np.ndarray]]:
    """Vectors by sentence-transformers' `encode_query` and `encode_document`."""

    def vectors(reference: Any, side: Side, texts: Sequence[str]) -> Sequence[np.ndarray]:
        encode = reference.encode_query if side == "query" else reference.encode_document
        return [np.asarray(one) for one in encode(list(texts), **how)]

    return vectors


def similarity(reference: Any, queries: list[str], texts: Sequence[str]) -> np.ndarray:
    """Scores by the model's own similarity."""
    both = reference.encode_query(queries), reference.encode_document(list(texts))
    found: np.ndarray = reference.similarity(*both).numpy()
    return found
