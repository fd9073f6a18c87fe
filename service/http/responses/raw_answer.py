"""The answer to `Accept: application/octet-stream`: the bytes of the vectors, row-major, and headers for all else.

Errors are always JSON. Headers hold a few numbers, however many vectors there are, so no proxy's limit is met.
"""

from collections.abc import Iterator

from litestar.types import ASGIApp

from schemas.endpoints.embeddings import EmbeddingRequest
from service.errors import InputError
from service.front.job import EmbedResult
from service.http.request import Call
from service.http.responses.answer import BodyParts, answer
from service.outputs.dense import VectorFormat

JSON = "application/json"
ANY = (b"", b"*/*", b"application/json")
"""`Accept` of nearly all clients: none of them prefers raw bytes."""
BYTES = "application/octet-stream"

VARY = [(b"vary", b"Accept")]
"""Sent with every answer whose form `Accept` chooses, so that a cache in between keeps both apart."""

NOT_ACCEPTABLE = (0.0, 0)

Preference = tuple[float, int]
"""Quality 0 to 1, then how precisely the type is named: 3 by name, 2 by `application/*`, 1 by `*/*`."""


async def raw_answer(
    call: Call[EmbeddingRequest], result: EmbedResult, fingerprint: str, vector_format: VectorFormat, dimensions: int
) -> ASGIApp:
    """The vectors of a request as bytes; every input has been answered."""
    rows = [one.vector.rows[vector_format.dtype] for one in result.embedded]
    headers = [
        (b"x-embedding-shape", b"%d,%d" % (len(rows), dimensions)),
        (b"x-embedding-dtype", vector_format.dtype.encode()),
        (b"x-embedding-endianness", b"big" if vector_format.is_big_endian else b"little"),
        (b"x-embedding-truncated", b"%d" % result.counts.num_truncated),
        (b"x-prompt-tokens", b"%d" % result.counts.num_tokens),
        *VARY,
    ]
    return await answer(
        call, result, lambda: BodyParts(map(vector_format.raw, rows)), fingerprint, headers, media_type=BYTES
    )


def is_answered_raw(accept: bytes, request: EmbeddingRequest) -> bool:
    """True if the client prefers raw bytes to JSON; not asked of one that sent `ANY`.

    `encoding_format` has no say: it is about how JSON holds a vector, and OpenAI's client sends it unasked.

    Raises:
        InputError: raw bytes and `on_error: per_item` at once.
    """
    if not prefers_bytes(accept.decode("latin-1")):
        return False
    if request.on_error == "per_item":
        raise InputError(
            "conflicting_input",
            "`on_error`: got `per_item` with `Accept: application/octet-stream`; raw bytes have no place for the error "
            "of an item: expect `application/json`, or send `fail`",
            param="on_error",
        )
    return True


def prefers_bytes(accept: str) -> bool:
    """True if an `Accept` header ranks raw bytes above JSON.

    Bytes are for a client that asks for them: by a higher `q`, or at the same `q` by naming the type where JSON is only
    one of `*/*`. Everything else is JSON: no header, `*/*`, both types named alike, and a header that allows neither:
    the RFC lets a server disregard it, and a 406 would have a JSON body all the same.

    Source: RFC 9110, section 12.5.1 (q values; the most specific range that matches a type speaks for it).
    """
    ranges = list(_ranges(accept))
    return _preference(BYTES, ranges) > _preference(JSON, ranges)


def _preference(media_type: str, ranges: list[tuple[str, float]]) -> Preference:
    precision = {media_type: 3, media_type.partition("/")[0] + "/*": 2, "*/*": 1}
    matching = [(precision[name], q) for name, q in ranges if name in precision]
    if not matching:
        return NOT_ACCEPTABLE
    best, q = max(matching)
    return (q, best) if q > 0 else NOT_ACCEPTABLE


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """Media ranges in lower case with their qualities; malformed ones are skipped, other parameters ignored."""
    for member in filter(None, accept.split(",")):
        name, *parameters = (part.strip().lower() for part in member.split(";"))
        quality = next((value for key, _, value in (p.partition("=") for p in parameters) if key.strip() == "q"), "1")
        if (q := _quality(quality.strip())) is not None:
            yield name, q


def _quality(text: str) -> float | None:
    """A weight between 0 and 1; None for anything else (`nan`, `1e9`, nothing)."""
    if not text.replace(".", "", 1).isdecimal() or not text.isascii():
        return None
    q = float(text)
    return q if q <= 1 else None
