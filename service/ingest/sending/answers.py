"""The server's answers, as far as a run reads them; other fields are ignored."""

import base64
import binascii
from typing import Any

import msgspec

from service.ingest.errors import FailureReason, IngestError


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


class AnswerEntry(msgspec.Struct, frozen=True):
    """One input's vector, in base64, or its error."""

    embedding: str | None
    error: ItemError | None = None


class CacheUsage(msgspec.Struct, frozen=True):
    """Encoder cache counts of a request."""

    encoder_cache_hits: int = 0
    encoder_cache_misses: int = 0


class EmbeddingsAnswer(msgspec.Struct, frozen=True):
    """One entry for each input, in order."""

    data: list[AnswerEntry]
    usage: CacheUsage


class ErrorAnswer(msgspec.Struct, frozen=True):
    """Body of an answer other than 200."""

    error: ItemError


def read_answer(body: bytes, num_inputs: int) -> EmbeddingsAnswer:
    """Parse the body of a 200.

    Raises:
        IngestError: not an answer to `num_inputs` inputs, so not a Cenote server.
    """
    try:
        answer = msgspec.json.decode(body, type=EmbeddingsAnswer)
    except msgspec.DecodeError as error:
        raise IngestError(f"/v1/embeddings gave an unexpected answer: {error}") from None
    if len(answer.data) != num_inputs:
        raise IngestError(f"/v1/embeddings answered {len(answer.data)} vectors, expected {num_inputs}")
    return answer


def read_error(body: bytes, status: int) -> ItemError:
    """Parse the error of an answer other than 200; a proxy's error has the status as code."""
    try:
        return msgspec.json.decode(body, type=ErrorAnswer).error
    except msgspec.DecodeError:
        return ItemError(f"http_{status}", f"status {status}: {body[:200].decode(errors='replace')!r}")


def read_vector(entry: AnswerEntry, dimensions: int) -> bytes:
    """Components of an entry without an error, as little-endian float32.

    Raises:
        IngestError: their number is not `dimensions`.
    """
    try:
        vector = base64.b64decode(entry.embedding or "", validate=True)
    except binascii.Error:
        vector = b""
    if len(vector) != 4 * dimensions:
        raise IngestError(f"/v1/embeddings answered {len(vector)} bytes for a vector, expected {4 * dimensions}")
    return vector


def model_card(body: bytes, model: str | None) -> dict[str, Any]:
    """The entry of `/v1/models` with the id or alias `model`; None takes the first.

    Raises:
        IngestError: no such model, not a Cenote server, or an old one.
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
