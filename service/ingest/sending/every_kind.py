"""Requests to `/v2/embed`: every kind of vector of an ask, of one forward, under one instruction for each request."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import orjson

from service.ingest.errors import IngestError
from service.ingest.item import Ask
from service.ingest.plan import Plan
from service.ingest.sending.answers import ItemError, ServerAnswer, read_components
from service.ingest.sending.media import LoadedImage, LoadedMedia, by_instruction, content
from service.ingest.vectors import SparseVector, VectorKind, Vectors

TYPES: Mapping[VectorKind, str] = {"dense": "base64", "sparse": "sparse", "multi": "multi_base64"}
"""`embedding_types` of each kind."""
CACHE = re.compile(r"hit=(\d+), miss=(\d+)")
"""The header `x-encoder-cache`; a proxy may remove it."""


class _Sparse(msgspec.Struct, frozen=True):
    """The entries of a sparse vector; a failed input has none."""

    indices: list[int]
    values: list[float]


class _Embeddings(msgspec.Struct, frozen=True):
    """One list for each type asked for; a failed input has an empty string."""

    base64: list[str] = []
    sparse: list[_Sparse] = []
    multi_base64: list[str] = []


class _Answer(msgspec.Struct, frozen=True):
    """The vectors of all inputs, and the errors of some."""

    embeddings: _Embeddings
    errors: list[ItemError] = []


class EveryKind:
    """Vectors of every kind of `plan.outputs`."""

    path = "/v2/embed"

    def __init__(self, model: str, plan: Plan, *, truncate: bool) -> None:
        self._plan = plan
        self._settings: dict[str, Any] = {
            "model": model,
            "output_dimension": plan.dimensions,
            "embedding_types": [TYPES[kind] for kind in plan.outputs],
            "truncate": "END" if truncate else "NONE",
            "on_error": "per_item",
        }

    def requests(self, asks: Sequence[Ask]) -> Sequence[Sequence[Ask]]:
        """One request for each instruction; the server keeps an image's features from one to the next."""
        return by_instruction(asks)

    def body(self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia]) -> bytes:
        """An item of parts for each ask; all of them have one instruction."""
        settings = self._settings | ({} if asks[0].instruction is None else {"instruction": asks[0].instruction})
        return orjson.dumps(settings | {"inputs": [{"content": content(ask, media, _part)} for ask in asks]})

    def read(self, body: bytes, headers: Mapping[str, str], asks: Sequence[Ask]) -> ServerAnswer:
        """Read vectors, errors and cache counts."""
        num_inputs = len(asks)
        try:
            answer = msgspec.json.decode(body, type=_Answer)
        except msgspec.DecodeError as error:
            raise IngestError(f"{self.path} gave an unexpected answer: {error}") from None
        errors = {error.index: error for error in answer.errors}
        for kind in self._plan.outputs:
            if (got := len(getattr(answer.embeddings, TYPES[kind]))) != num_inputs:
                raise IngestError(f"{self.path} answered {got} {kind} vectors, expected {num_inputs}")
        entries = [errors.get(index) or self._vectors(answer.embeddings, index) for index in range(num_inputs)]
        counted = CACHE.search(headers.get("x-encoder-cache", ""))
        return ServerAnswer(entries, *(map(int, counted.groups()) if counted else ()))

    def _vectors(self, found: _Embeddings, index: int) -> Vectors:
        outputs, dimensions = self._plan.outputs, self._plan.dimensions
        return Vectors(
            dense=read_components(found.base64[index], dimensions, self.path) if "dense" in outputs else b"",
            sparse=self._sparse(found.sparse[index]) if "sparse" in outputs else None,
            multi=read_components(found.multi_base64[index], dimensions, self.path, is_multi=True)
            if "multi" in outputs
            else b"",
        )

    def _sparse(self, found: _Sparse) -> SparseVector:
        if len(found.indices) != len(found.values):
            got = f"{len(found.indices)} indices and {len(found.values)} values"
            raise IngestError(f"{self.path} answered {got} for a sparse vector, expected as many of both")
        return SparseVector(np.array(found.indices, "<u4"), np.array(found.values, "<f4"))


def _part(image: LoadedImage) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image.url}}
