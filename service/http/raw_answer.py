"""The answer to `Accept: application/octet-stream`: nothing but the vectors, and headers for what JSON would tell.

In: vectors and their format. Out: bytes, row-major: the first item's components, then the second's. The headers hold a
few numbers each, however many vectors there are, so that no proxy's limit is met.
"""

from collections.abc import Iterable

from schemas.embeddings import EmbeddingRequest
from service.errors import InputError
from service.front.job import Embedded
from service.front.turns import Turns
from service.http.accept import BYTES, prefers_bytes
from service.http.answer import facts
from service.http.late import Parts
from service.http.reply import Reply, reply
from service.http.vector_format import VectorFormat
from service.stages import stage

VARY = {"vary": "Accept"}
"""Sent with every answer whose form `Accept` chooses, so that a cache between us and the client keeps both apart."""


def wants_raw(accept: Iterable[str], request: EmbeddingRequest) -> bool:
    """Whether the answer is raw bytes.

    `encoding_format` has no say: it is about how JSON holds a vector, and OpenAI's client sends it unasked.

    Raises:
        InputError: raw bytes and `on_error: per_item` at once.
    """
    if not prefers_bytes(accept):
        return False
    if request.on_error == "per_item":
        raise InputError(
            "conflicting_input",
            "`on_error`: got `per_item` with `Accept: application/octet-stream`; raw bytes have no place for the error "
            "of an item: expect `application/json`, or send `fail`",
            param="on_error",
        )
    return True


def raw_answer(
    turns: Turns, embedded: Embedded, fingerprint: str, vector_format: VectorFormat, dimensions: int
) -> Reply:
    """The vectors of a request as bytes.

    Args:
        turns: of the service.
        embedded: every input answered; vectors in the format's dtype.
        fingerprint: of the model.
        vector_format: dtype and byte order.
        dimensions: length of each vector.
    """
    rows = [one.vector.rows[vector_format.dtype] for one in embedded.answered]
    headers = {
        "x-embedding-shape": f"{len(rows)},{dimensions}",
        "x-embedding-dtype": vector_format.dtype,
        "x-embedding-endianness": vector_format.byte_order,
        "x-embedding-truncated": str(embedded.counts.num_truncated),
        "x-prompt-tokens": str(embedded.counts.num_tokens),
    }
    with stage("write"):
        parts = Parts([vector_format.raw(row) for row in rows])
        return reply(turns, parts, facts(embedded, fingerprint) | headers | VARY, BYTES, embedded.hold)
