"""The server's answers, as far as a run reads them; other fields are ignored."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from service.ingest.errors import FailureReason, IngestError
from service.ingest.vectors import Vectors


class ItemError(msgspec.Struct, frozen=True):
    """Error of one input or of a whole request."""

    code: str
    message: str
    index: int | None = None
    param: str | None = None

    @property
    def reason(self) -> FailureReason:
        """The error for the dead-letter file, without its place in a request that the user did not write."""
        return FailureReason(self.code, self.message.removeprefix(f"`{self.param}`: "))


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """An answer of either route: the vectors of each input, or its error, in order."""

    entries: Sequence[Vectors | ItemError]
    hits: int = 0
    misses: int = 0


class ErrorAnswer(msgspec.Struct, frozen=True):
    """Body of an answer other than 200."""

    error: ItemError


def read_error(body: bytes, status: int) -> ItemError:
    """Parse the error of an answer other than 200; that of a proxy or of another program has the status as code."""
    try:
        return msgspec.json.decode(body, type=ErrorAnswer).error
    except msgspec.DecodeError:
        begins = body[:80].decode(errors="replace")
        return ItemError(f"http_{status}", f"an answer of a proxy or another program, not of Cenote's form: {begins!r}")


def read_components(encoded: str, dimensions: int, path: str, *, is_multi: bool = False) -> bytes:
    """The components in a base64 string, as little-endian float32; `is_multi`: of any number of vectors."""
    try:
        vector = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        vector = b""
    num_bytes = 4 * dimensions
    if not vector or len(vector) % num_bytes or (len(vector) != num_bytes and not is_multi):
        raise IngestError(f"{path} answered {len(vector)} bytes for a vector, expected {num_bytes}")
    return vector


def embedders(body: bytes) -> list[dict[str, Any]]:
    """The entries of `/v1/models` that give vectors, not scores of pairs; one for each name of a model."""
    try:
        cards: list[dict[str, Any]] = msgspec.json.decode(body, type=dict[str, Any])["data"]
        return [card for card in cards if card["modalities"] and card["id"] and card.get("outputs", True)]
    except (msgspec.DecodeError, KeyError, TypeError):
        raise IngestError("/v1/models is not that of a Cenote server") from None


def model_card(cards: Sequence[dict[str, Any]], model: str | None, *, has_media: bool = False) -> dict[str, Any]:
    """The entry with the id or alias `model`; None takes the first, of media the first that sees."""
    named = {card["id"]: card for card in cards}
    seeing = [card for card in cards if has_media and "image" in card["modalities"]]
    found = named.get(model) if model is not None else next(iter((*seeing, *cards)), None)
    if found is None:
        raise IngestError(f"--model {model}: the server has {', '.join(named) or 'no model'}")
    if "fingerprint" not in found:
        raise IngestError("the server is older than this program: its /v1/models has no `fingerprint`; update it")
    return found
