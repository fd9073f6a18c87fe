"""A model of the table after a live server: what it answers, as arrays."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from schemas.endpoints.embed import EmbedResponse
from tests.conftest import TOLERANCE, LiveServer
from tests.models.over_http.model import Item, Kind, Model, Side, items

INPUT_TYPES: dict[Side, str] = {"query": "search_query", "document": "search_document"}


class Running:
    """One of them."""

    def __init__(self, model: Model, folder: Path, start: Any, *flags: str) -> None:
        self.model, self.place = model, folder
        self.folder, self.reference = model.make(folder)
        self._start, self._flags = start, flags
        self.server: LiveServer = self.start()

    def start(self) -> LiveServer:
        """A server of it; links to its files are kept in its folder."""
        flags = ("--model", str(self.folder), *self.model.flags, *self._flags)
        self.server = self._start(*flags, env={"XDG_CACHE_HOME": str(self.place / "cache")}).wait_until_ready()
        return self.server

    @property
    def card(self) -> dict[str, Any]:
        found: dict[str, Any] = self.server.http.get("/v1/models").json()["data"][0]
        return found

    def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        """`/v2/embed`'s answer, which must be as the document says."""
        answer = self.server.ask("/v2/embed", body)
        msgspec.json.decode(answer.content, type=EmbedResponse)
        found: dict[str, Any] = answer.json()
        return found

    def vectors(self, found: Sequence[Item], side: Side = "document", **more: Any) -> list[np.ndarray]:
        """The vectors of items, all in one request, in the model's own type."""
        types = {} if self.model.kind != "float" else {"embedding_types": ["float"]}
        asked = {"inputs": items(found), "input_type": INPUT_TYPES[side], **types, **more}
        embeddings = self.embed(asked)["embeddings"]
        assert list(embeddings) == [self.model.kind]
        return self.numbers(embeddings[self.model.kind])

    def numbers(self, found: list[Any], kind: Kind | None = None) -> list[np.ndarray]:
        """An answer's entries as arrays: sparse ones with their zeros, vectors of tokens in rows."""
        return numbers(found, kind or self.model.kind, self.card["dimensions"])

    def want(self, side: Side, found: Sequence[Item]) -> Sequence[np.ndarray]:
        assert self.model.vectors is not None
        return self.model.vectors(self.reference, side, found)


def numbers(found: list[Any], kind: Kind, width: int) -> list[np.ndarray]:
    if kind != "sparse":
        return [
            np.array(one, "<f4").reshape(-1, width) if kind == "multi_float" else np.array(one, "<f4") for one in found
        ]
    rows = [np.zeros(width, np.float32) for _ in found]
    for row, one in zip(rows, found, strict=True):
        assert one["indices"] == sorted(set(one["indices"]))
        row[one["indices"]] = one["values"]
    return rows


def near(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> bool:
    """Within the tolerance, which is of numbers up to one; sparse entries are of the same places."""
    assert [one.shape for one in got] == [one.shape for one in want]
    largest = max(1.0, *(float(np.abs(one).max(initial=0.0)) for one in want))
    return all(
        np.abs(one - other).max(initial=0.0) <= TOLERANCE * largest for one, other in zip(got, want, strict=True)
    )


def refusal(server: LiveServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The error of a request that must be refused; one of TEI's routes has its message alone."""
    answer = server.http.post(path, json=body)
    assert answer.status_code == 400, (path, body, answer.text)
    said = answer.json()
    error: dict[str, Any] = said["error"] if isinstance(said.get("error"), dict) else {"message": answer.text}
    return error


def is_said(error: dict[str, Any], code: str, param: str, words: str) -> bool:
    """True if the error has the code and the param, where they are not empty, and the words."""
    said = (not code or error.get("code") == code) and (not param or error.get("param") == param)
    return bool(said and re.search(words, error["message"], re.DOTALL))
