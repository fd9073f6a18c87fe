"""What the server answers, as much of it as a run reads; other fields are passed over."""

import base64
import binascii
from typing import Any

import msgspec

from service.ingest.errors import IngestError, Reason


class ItemError(msgspec.Struct, frozen=True):
    """Why one input, or a whole request, has no vector."""

    code: str
    message: str
    index: int | None = None
    param: str | None = None

    @property
    def reason(self) -> Reason:
        """For the dead letters, without the place in a request that nobody wrote by hand."""
        return Reason(self.code, self.message.removeprefix(f"`{self.param}`: "))


class Entry(msgspec.Struct, frozen=True):
    """One input's vector, in base64, or its error."""

    embedding: str | None
    error: ItemError | None = None


class Usage(msgspec.Struct, frozen=True):
    """How the pictures of a request were come by."""

    encoder_cache_hits: int = 0
    encoder_cache_misses: int = 0


class Answer(msgspec.Struct, frozen=True):
    """An entry for each input, in order."""

    data: list[Entry]
    usage: Usage


class Refusal(msgspec.Struct, frozen=True):
    """The body of an answer that is not 200."""

    error: ItemError


def read_answer(body: bytes, num_inputs: int) -> Answer:
    """The body of a 200.

    Raises:
        IngestError: it is no answer to a request of so many inputs: this is not a Cenote server.
    """
    try:
        answer = msgspec.json.decode(body, type=Answer)
    except msgspec.DecodeError as error:
        raise IngestError(f"/v1/embeddings answered what it should not: {error}") from None
    if len(answer.data) != num_inputs:
        raise IngestError(f"/v1/embeddings answered {len(answer.data)} vectors, expected {num_inputs}")
    return answer


def read_refusal(body: bytes, status: int) -> ItemError:
    """The error of an answer that is not 200; a proxy's, which is not ours, has its status for a code."""
    try:
        return msgspec.json.decode(body, type=Refusal).error
    except msgspec.DecodeError:
        return ItemError(f"http_{status}", f"status {status}: {body[:200].decode(errors='replace')!r}")


def read_vector(entry: Entry, dimensions: int) -> bytes:
    """Components of an entry without an error, as little-endian float32.

    Raises:
        IngestError: they are not so many.
    """
    try:
        vector = base64.b64decode(entry.embedding or "", validate=True)
    except binascii.Error:
        vector = b""
    if len(vector) != 4 * dimensions:
        raise IngestError(f"/v1/embeddings answered {len(vector)} bytes for a vector, expected {4 * dimensions}")
    return vector


def model_card(body: bytes, model: str | None) -> dict[str, Any]:
    """The entry of `/v1/models` that a run is for.

    Args:
        body: of the answer.
        model: its id or an alias; None takes the first.

    Raises:
        IngestError: there is none of that name, or it is not a Cenote server, or an old one.
    """
    try:
        cards: list[dict[str, Any]] = msgspec.json.decode(body, type=dict[str, Any])["data"]
        named = {card["id"]: card for card in cards if card["max_vectors_per_input"]}
    except (msgspec.DecodeError, KeyError, TypeError):
        raise IngestError("/v1/models is not that of a Cenote server") from None
    found = named.get(model) if model is not None else next(iter(named.values()), None)
    if found is None:
        raise IngestError(f"--model {model}: the server has {', '.join(named) or 'no model'}")
    if "fingerprint" not in found:
        raise IngestError("the server is older than this program: its /v1/models has no `fingerprint`; update it")
    return found
