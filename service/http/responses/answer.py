"""Answers with vectors: their headers, and their body, sent in one piece or slice by slice.

A small body is sent whole. Of a large one a slice is printed, sent, and forgotten, so that no answer holds the event
loop or the memory. Where the length is known beforehand it is announced; else the transfer is chunked. Should a slice
fail, the error propagates and the server cuts the connection: no client can take half of an answer for all of it.
"""

import asyncio
from collections.abc import Callable, Mapping

import msgspec
from litestar import MediaType
from litestar.types import Receive, Scope, Send

from service import metrics
from service.errors import ServiceError
from service.front.admission.answer_room import Hold
from service.front.job import EmbedResult
from service.front.turns import Turns
from service.http.request_context import TENANT, AnyRequest, log_fields
from service.http.responses.deferred import SLICE_BYTES, Parts, in_parts
from service.http.tenant_counts import TENANTS
from service.stages import note_inside, stage

FINGERPRINT = "x-model-fingerprint"
MAX_VECTORS_ON_LOOP = 64
"""The entries of more are made in a thread; most of their vectors are printed later and elsewhere."""


class Reply:
    """A 200: an ASGI app, which Litestar sends as it is. Litestar's own responses build their headers three times."""

    def __init__(self, headers: Mapping[str, str], body: bytes = b"") -> None:
        self._start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer in one piece."""
        await send(self._start)  # type: ignore[arg-type]  # one of ASGI's messages
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


class StreamedReply(Reply):
    """A 200 in slices.

    Args:
        hold: on what the answer holds, given back as it is sent.
    """

    def __init__(self, turns: Turns, parts: Parts, headers: Mapping[str, str], hold: Hold | None) -> None:
        super().__init__(headers)
        self._turns = turns
        self._num_bytes = parts.num_bytes
        self._slices = parts.slices(SLICE_BYTES)
        self._hold = hold

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Print and send, a slice a turn; while the client reads none, one waits and no other is printed."""
        try:
            await send(self._start)  # type: ignore[arg-type]  # one of ASGI's messages
            while (body := await self._turns.take(lambda: next(self._slices, None))) is not None:
                await send({"type": "http.response.body", "body": body, "more_body": True})
                self._release(len(body))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            if self._hold is not None:
                self._hold.close()

    def _release(self, num_sent: int) -> None:
        """Give back the part of the hold that was sent."""
        if self._hold is not None:
            num_left = max(0, self._num_bytes - num_sent)
            self._hold.keep(self._hold.num_bytes * num_left // max(1, self._num_bytes))
            self._num_bytes = num_left


def reply(turns: Turns, parts: Parts, headers: dict[str, str], media_type: str, hold: Hold | None = None) -> Reply:
    """An answer in one piece or streamed, whichever suits its size.

    Args:
        headers: beside those of its type and length; ASCII.
        hold: on what the answer holds, given back as it is sent.
    """
    headers["content-type"] = media_type
    if parts.num_bytes <= SLICE_BYTES:
        body = b"".join(parts.slices(SLICE_BYTES))
        headers["content-length"] = str(len(body))
        return Reply(headers, body)
    if parts.is_exact:
        headers["content-length"] = str(parts.num_bytes)
    return StreamedReply(turns, parts, headers, hold)


async def answer(
    turns: Turns,
    make: Callable[[], msgspec.Struct],
    result: EmbedResult,
    fingerprint: str,
    headers: Mapping[str, str] | None = None,
    *,
    in_thread: bool = False,
) -> Reply:
    """The response that `make` gives, as JSON, with the headers of every answer with vectors.

    Args:
        make: does everything that can fail; runs in a thread where the inputs are many.
        headers: more of them.
        in_thread: `make` takes long whatever the number of inputs.
    """
    is_large = in_thread or len(result.inputs) > MAX_VECTORS_ON_LOOP
    with stage("write"):
        parts = await asyncio.to_thread(lambda: in_parts(make())) if is_large else in_parts(make())
        return reply(turns, parts, {**facts(result, fingerprint), **(headers or {})}, MediaType.JSON, result.hold)


def facts(result: EmbedResult, fingerprint: str) -> dict[str, str]:
    """Headers: the model, the times, and what the encoder cache had."""
    return {
        FINGERPRINT: fingerprint,
        "x-media-time": f"{result.media_ms:.1f}",
        "x-queue-time": f"{result.queue_ms:.1f}",
        "x-inference-time": f"{result.inference_ms:.1f}",
        "x-encoder-cache": f"hit={result.counts.num_hits}, miss={result.counts.num_misses}",
    }


def observe(result: EmbedResult, request: AnyRequest) -> None:
    """Put the facts of a request's inputs into its log line, and count them in metrics once it is answered."""
    fields = log_fields(request.scope)
    fields["inputs"] = len(result.inputs)
    fields.update(result.counts.log_fields(), batch=result.num_batched)
    if num_failed := len(result.inputs) - len(result.embedded):
        fields["failed"] = num_failed
        fields["code"] = next(one.code for one in result.inputs if isinstance(one, ServiceError))
    note_inside(result.queue_ms, result.inference_ms)
    asyncio.get_running_loop().call_soon(_count, result, fields.get(TENANT))


def _count(result: EmbedResult, tenant: object) -> None:
    if isinstance(tenant, str):
        TENANTS.embedded(tenant, len(result.inputs), result.counts.num_tokens)
    metrics.INPUTS.observe(len(result.inputs))
    metrics.PRECOMPUTED.inc(result.counts.num_precomputed)
    metrics.TRUNCATED.inc(result.counts.num_truncated)
