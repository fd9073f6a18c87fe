"""`POST /v1/embeddings/stream`."""

from dataclasses import dataclass

import msgspec
from litestar import post
from litestar.types import ASGIApp, Receive, Scope, Send

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.stream import (
    EXAMPLE_ID,
    StreamAnswer,
    StreamEnd,
    StreamFailure,
    StreamLine,
    StreamOptions,
    StreamVector,
)
from schemas.errors import ErrorBody
from schemas.parsing.stream_request import base_request, read_options
from service import metrics
from service.accounting import EVERYONE
from service.errors import UnavailableError
from service.front.admission.shared_table import NOTHING, ONE_MORE, Load
from service.front.admission.stream_bounds import StreamRateLimit, StreamWindow
from service.front.inputs.sources import embedding_truncation
from service.front.serving.model_serving import Online
from service.front.serving.serving import Serving, serving_of
from service.front.tenant import Caller
from service.http.examples import COLORS, IMAGE_PART, TEXT_PART, VECTOR, example, sample, usage, user
from service.http.request import AnyRequest, caller_of, check_kind, context_of
from service.http.responses.answer import FINGERPRINT
from service.http.route import Route
from service.http.stream.answers import StreamTally
from service.http.stream.body import DRAINING_RETRY_S, GOING, StreamBody
from service.http.stream.items import ItemReader
from service.http.stream.lines import LineSplitter
from service.http.stream.session import StreamSession
from service.outputs.chunks import embeddings_ask
from service.outputs.dense import DenseAsk, VectorFormat

NDJSON = b"application/x-ndjson"

BATCHES = 4
"""Tokens under way, in batches of the engine: one runs, one is ready, one is made, one is written."""

COMPONENT_BYTES = 4
"""Of one component of a vector, at most."""

HEADERS = [
    (b"content-type", NDJSON),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
"""A proxy that buffers lines would defeat the stream; the last turns nginx's buffer off."""


@post("/v1/embeddings/stream", status_code=200)
async def create_embedding_stream(request: AnyRequest) -> ASGIApp:
    """One line for each line, as they are done. Errors before the first line are answered as on any other route."""
    serving, context = serving_of(request.app), context_of(request.scope)
    check_kind(context, NDJSON)
    options = read_options(request.scope["query_string"], ignore_unknown=serving.settings.unknown_fields == "ignore")
    base = base_request(options)
    if serving.is_draining:
        raise UnavailableError("server_draining", GOING, retry_after_s=DRAINING_RETRY_S)
    online = serving.find(options.model, "dense", "`/v1/embeddings/stream`")
    name = options.model or online.model.name
    online.model.check_instruction(options.instruction or "")
    if options.input_type is not None:
        online.model.instruction_of(options.input_type)
    if options.part_order == "as_written":
        online.model.check_order()
    embedding_truncation(base, online.model.profile.max_tokens)
    dimensions = base.dimensions or online.model.profile.dimensions
    if base.dimensions:
        online.model.check_dimensions(dimensions, "dimensions")
    ask = embeddings_ask(base, dimensions, online.model.offer)
    caller = caller_of(context, serving.settings.request_timeout_s)
    rate_limit = StreamRateLimit(context.meter)
    return EmbeddingStream(serving, online, base, ask, caller, rate_limit, name)


@dataclass(frozen=True, slots=True)
class EmbeddingStream:
    """The ASGI app of one stream whose query is valid.

    Attributes:
        online: the model, as the stream found it.
        base: fields that all lines share.
        ask: of each line.
        rate_limit: of its key.
        name: the model's, as the query gave it.
    """

    serving: Serving
    online: Online
    base: EmbeddingRequest
    ask: DenseAsk
    caller: Caller
    rate_limit: StreamRateLimit
    name: str

    @property
    def fingerprint(self) -> str:
        """Of all its vectors."""
        return self.online.fingerprint_as_written if self.base.part_order == "as_written" else self.online.fingerprint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin the answer before the body has ended, and end it with a line that says whether it is complete."""
        context = context_of(scope)
        tally = StreamTally(context.id, VectorFormat.of(self.base), self.caller.tenant.name or EVERYONE)
        lease = self.serving.queue.take(self.caller.tenant, NOTHING, ONE_MORE)
        with lease, metrics.STREAMS.track_inprogress():
            window = StreamWindow(self._limits(), lease, self.online.embedder.queue)
            body = StreamBody(receive, self.serving, self.rate_limit, window)
            await body.open()
            made_by = (FINGERPRINT, self.fingerprint.encode())
            await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, made_by]})
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # sends the head
            try:
                end = await self._session(window, body, tally, send).run(self.name, self.fingerprint)
            finally:
                context.log_fields.update(tally.log_fields())
            last = msgspec.json.encode(end) + b"\n"
            await send({"type": "http.response.body", "body": last, "more_body": True})
            if not body.is_silent:
                await body.linger()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _limits(self) -> Load:
        settings = self.serving.settings
        return Load(settings.max_stream_lines, BATCHES * settings.max_batch_tokens, settings.max_body_bytes)

    def _session(self, window: StreamWindow, body: StreamBody, tally: StreamTally, send: Send) -> StreamSession:
        settings = self.serving.settings
        return StreamSession(
            online=self.online,
            ask=self.ask,
            caller=self.caller,
            body=body,
            splitter=LineSplitter(settings.max_body_bytes),
            reader=ItemReader(
                self.base,
                settings.max_body_bytes,
                self.serving.settings.unknown_fields == "ignore",
                self.serving.turns,
                self.serving.bodies,
            ),
            window=window,
            rate_limit=self.rate_limit,
            tally=tally,
            turns=self.serving.turns,
            send=send,
            vector_bytes=self.ask.dimensions * COMPONENT_BYTES,
        )


_FAILURE = sample(
    ErrorBody,
    message="line 8: expected one JSON object in UTF-8, got text that is malformed at byte 4",
    param=None,
    code="invalid_json",
    index=7,
)

ROUTE = Route(
    create_embedding_stream,
    "createEmbeddingStream",
    takes_timeout=True,
    summary="Vectors of any number of lines, as they are done",
    description=(
        "The body is lines of JSON, one `StreamLine` each; the answer is lines of JSON, one `StreamAnswer` each, "
        "in order of completion: `index` and `id` say which line an answer belongs to. Both schemas here are of "
        "one line. Options for all lines are query parameters. The vectors are those of `/v1/embeddings`. The "
        "answer begins before the body has ended, and the body is read only as fast as answers are taken: send "
        "and read at the same time. A line that is malformed, too long or refused is answered by an error, and the "
        "stream goes on. The last line has `type` `end`; an answer without it was cut off. `X-Request-Timeout` "
        "applies to each line, from when it was read."
    ),
    query=StreamOptions,
    request=StreamLine,
    request_media_type=NDJSON.decode(),
    response=StreamAnswer,
    media_type=NDJSON.decode(),
    error_statuses=(400, 401, 404, 414, 415, 429, 431, 500, 503),
    headers=("x-model-fingerprint", "x-total-time"),
    request_examples={
        "text": example("A text", {"id": EXAMPLE_ID, "input": "a red bicycle against a wall"}),
        "fused": example(
            "An image and a text in one vector, under an instruction of its own",
            {"id": EXAMPLE_ID, "content": [IMAGE_PART, TEXT_PART], "instruction": COLORS},
        ),
        "conversation": example("A conversation", {"messages": [user(TEXT_PART)]}),
    },
    response_examples={
        "vector": example("Of a line that has its vector", sample(StreamVector, id=EXAMPLE_ID, embedding=VECTOR)),
        "failure": example("Of a line that is not JSON", sample(StreamFailure, error=_FAILURE)),
        "end": example("The last line", sample(StreamEnd, num_lines=8, num_answered=7, usage=usage(182, 8))),
    },
)
