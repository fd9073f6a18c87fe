"""Answers with vectors: their headers, and their body, sent in one piece or slice by slice.

A small body is sent whole. A large one is text, and between it values that are each printed when their turn to be sent
has come: a slice is printed, sent, and forgotten, so that no answer holds the event loop or the memory. Whatever can
fail has been done before the first byte is sent. Where the length is known beforehand it is announced; else the
transfer is chunked. Should a slice fail all the same, the error propagates and the server cuts the connection: no
client can take half of an answer for all of it.

The answer to `Accept: application/octet-stream` is the bytes of the vectors, row-major, and headers. Errors
are always JSON. Headers hold a few numbers, however many vectors there are, so no proxy's limit is met.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import MediaType
from litestar.types import ASGIApp, Receive, Scope, Send

from schemas.endpoints.embeddings import EmbeddingRequest
from service.accounting import stage
from service.errors import InputError
from service.fairness.threads import LoopTimeSlices
from service.front.admission.budget import Lease
from service.front.job import EmbedResult
from service.http.request import Call
from service.outputs.dense import VectorFormat
from service.outputs.printing import DeferredValue

FINGERPRINT = b"x-model-fingerprint"
MAX_VECTORS_ON_LOOP = 64
"""The entries of more are made in a thread; most of their vectors are printed later and elsewhere."""

SLICE_BYTES = 1 << 17
"""Printed and sent at once: ten vectors of 1024 numbers, a third of a millisecond. A smaller answer is sent whole."""
MIN_SLICE_BYTES = SLICE_BYTES // 2

ANY = (b"", b"*/*", b"application/json")
"""`Accept` of nearly all clients: none of them prefers raw bytes."""
BYTES = "application/octet-stream"

VARY = [(b"vary", b"Accept")]
"""Sent with every answer whose form `Accept` chooses, so that a cache in between keeps both apart."""

NOT_ACCEPTABLE = (0.0, 0)

Preference = tuple[float, int]
"""Quality 0 to 1, then how precisely the type is named: 3 by name, 2 by `application/*`, 1 by `*/*`."""

MARK = b"\0"
"""Stands for a `DeferredValue` in the text: JSON has this byte nowhere, since strings escape it."""

BodyParts = deque[bytes | memoryview | DeferredValue]
"""The body of an answer, to be read once: text that is there, and values that are not yet printed."""

Headers = list[tuple[bytes, bytes]]


def in_parts(answer: Any, *, as_lines: bool = False) -> BodyParts:
    """An answer as JSON, which may hold a `DeferredValue` for any value; the first are printed at once, up to a slice.

    Args:
        as_lines: the answer is a list, and each of its items becomes a line.
    """
    deferred: list[DeferredValue] = []
    num_left = SLICE_BYTES

    def print_or_defer(value: object) -> msgspec.Raw:
        nonlocal num_left
        if not isinstance(value, DeferredValue):
            raise TypeError(f"{type(value).__name__} is no part of an answer. This is a bug.")
        num_left -= value.num_bytes
        if num_left >= 0:
            return msgspec.Raw(b"".join(value.chunks()))
        deferred.append(value)
        return msgspec.Raw(MARK)

    encoder = msgspec.json.Encoder(enc_hook=print_or_defer)  # calls it for each value of a type that it does not know
    text = encoder.encode_lines(answer) if as_lines else encoder.encode(answer)
    if not deferred:
        return deque([text])
    first, *texts = text.split(MARK)
    return deque([first, *(part for pair in zip(deferred, texts, strict=True) for part in pair)])


def slices(parts: BodyParts) -> Iterator[bytes]:
    """A body in slices of at least `MIN_SLICE_BYTES`, but for the last; each part is released once it is given."""
    slice_: list[bytes | memoryview] = []
    num_bytes = 0
    while parts:
        part = parts.popleft()
        for chunk in part.chunks() if isinstance(part, DeferredValue) else (part,):
            if not slice_ and isinstance(chunk, bytes) and len(chunk) >= MIN_SLICE_BYTES:
                yield chunk  # as it is: to copy megabytes takes as long as to send them
                continue
            slice_.append(chunk)
            num_bytes += len(chunk)
            if num_bytes >= SLICE_BYTES:
                yield b"".join(slice_)
                slice_, num_bytes = [], 0
    yield b"".join(slice_)


class WholeReply(msgspec.Struct, frozen=True):
    """A 200 in one piece: an ASGI app, which Litestar runs as it is. Litestar's own build their headers three times."""

    headers: Headers
    body: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


@dataclass(slots=True)
class StreamedReply:
    """A 200 in slices, as an ASGI app.

    Attributes:
        num_bytes: of the parts, or an estimate.
        is_exact: whether it is no estimate; then the last slice is sent as the last, for it ends the answer.
        lease: of what the answer holds, given back as it is sent.
    """

    turns: LoopTimeSlices
    headers: Headers
    parts: BodyParts
    num_bytes: int
    is_exact: bool
    lease: Lease

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Print and send, a slice a turn; while the client reads none, one waits and no other is printed."""
        printed = slices(self.parts)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.headers})
            more_body = True
            while more_body:
                body = await self.turns.take(lambda: next(printed, None))
                more_body = body is not None and not (self.is_exact and len(body) == self.num_bytes)
                await send({"type": "http.response.body", "body": body or b"", "more_body": more_body})
                self._release(len(body or b""))
        finally:
            self.lease.close()

    def _release(self, num_sent: int) -> None:
        """Give back the part of the lease that was sent."""
        num_left = max(0, self.num_bytes - num_sent)
        self.lease.keep(self.lease.held.num_bytes * num_left // max(1, self.num_bytes))
        self.num_bytes = num_left


def reply(turns: LoopTimeSlices, parts: BodyParts, headers: Headers, media_type: str, lease: Lease) -> ASGIApp:
    """An answer in one piece or streamed, whichever suits its size.

    Args:
        headers: beside those of its type and length.
        lease: of what the answer holds, given back as it is sent.
    """
    headers = [*headers, (b"content-type", media_type.encode())]
    num_bytes = sum(part.num_bytes if isinstance(part, DeferredValue) else len(part) for part in parts)
    if num_bytes <= SLICE_BYTES:
        body = parts[0] if len(parts) == 1 and isinstance(parts[0], bytes) else b"".join(slices(parts))
        return WholeReply([*headers, (b"content-length", b"%d" % len(body))], body)
    is_exact = all(part.is_exact for part in parts if isinstance(part, DeferredValue))
    if is_exact:
        headers.append((b"content-length", b"%d" % num_bytes))
    return StreamedReply(turns, headers, parts, num_bytes, is_exact, lease)


async def answer(
    call: Call[Any],
    result: EmbedResult,
    make: Callable[[], BodyParts],
    fingerprint: str,
    headers: Sequence[tuple[bytes, bytes]] = (),
    *,
    media_type: str = MediaType.JSON,
    in_thread: bool = False,
) -> ASGIApp:
    """The response whose body `make` gives, with the headers of every answer with vectors, or of scores.

    The facts of its inputs go into the request's log line, and are counted once it is answered.

    Args:
        make: does everything that can fail; runs in a thread where the inputs are many.
        in_thread: `make` takes long whatever the number of inputs.
    """
    context, counts = call.context, result.counts
    context.num_inputs, context.counts = result.num_inputs, counts
    context.log_fields.update(inputs=result.num_inputs, tokens=counts.num_tokens)
    context.log_fields.update(cache_hits=counts.num_hits, cache_misses=counts.num_misses, batch=result.num_batched)
    if result.errors:
        context.log_fields.update(failed=len(result.errors), code=result.errors[0].code)
    context.stages.inside_ms.update(queue=result.queue_ms, inference=result.inference_ms)
    with stage("write"):
        is_large = in_thread or len(result.inputs) > MAX_VECTORS_ON_LOOP
        parts = await asyncio.to_thread(make) if is_large else make()
        facts = [
            (FINGERPRINT, fingerprint.encode()),
            (b"x-media-time", b"%.1f" % result.media_ms),
            (b"x-queue-time", b"%.1f" % result.queue_ms),
            (b"x-inference-time", b"%.1f" % result.inference_ms),
            (b"x-encoder-cache", b"hit=%d, miss=%d" % (counts.num_hits, counts.num_misses)),
        ]
        return reply(call.serving.turns, parts, [*facts, *headers], media_type, result.lease)


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
    return _preference(BYTES, ranges) > _preference(MediaType.JSON, ranges)


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
