"""`POST /v1/embeddings/stream`."""

from dataclasses import dataclass

from litestar import post
from litestar.types import ASGIApp, Receive, Scope, Send

from schemas.embeddings import EmbeddingRequest
from schemas.stream_request import base_request, read_options
from service import metrics
from service.errors import KeyRefusedError, ServiceError, UnavailableError
from service.front.admission import QueueLimits
from service.front.inputs import embedding_truncation
from service.front.line_toll import LineToll
from service.front.serving import Online, Serving, serving_of
from service.front.stream_window import StreamWindow
from service.front.tenant import Caller
from service.http.answer import FINGERPRINT
from service.http.body import check_kind
from service.http.caller import caller_of, meter_of
from service.http.embeddings import output_spec
from service.http.errors import AnyRequest
from service.http.exchange import told_of
from service.http.late import lines_in_parts
from service.http.request_id import request_id
from service.http.stream.answers import Tally
from service.http.stream.hearing import Hearing
from service.http.stream.items import ItemReader
from service.http.stream.lines import LineSplitter
from service.http.stream.session import StreamSession
from service.http.tenant_counts import EVERYONE
from service.http.vector_format import VectorFormat
from service.ipc.messages import OutputSpec

NDJSON = "application/x-ndjson"

BATCHES = 4
"""Tokens under way, in steps of the engine: one runs, one is ready, one is made, one is written."""

COMPONENT_BYTES = 4
"""Of a vector, at most."""

HEADERS = [
    (b"content-type", NDJSON.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
"""A proxy that keeps lines back until it has many would undo the stream; the last is nginx's word for it."""

GOING = "the server is going and reads no more lines; send the rest to another"
REVOKED = "the API key of this stream is no more one that this server knows"
DRAINING_RETRY_S = 1


@post("/v1/embeddings/stream", status_code=200)
async def create_embedding_stream(request: AnyRequest) -> ASGIApp:
    """One line for each line, as they are done. What is refused here is refused as on any other route."""
    serving = serving_of(request.app)
    check_kind(request, NDJSON)
    options = read_options(request.scope["query_string"], ignore_unknown=serving.ignores_unknown_fields)
    base = base_request(options)
    if serving.is_draining:
        raise UnavailableError("server_draining", GOING, retry_after_s=DRAINING_RETRY_S)
    online = serving.online()
    name = online.model.check_name(options.model)
    online.model.check_single_vector("`/v1/embeddings/stream`")
    online.model.check_instruction(options.instruction)
    online.model.instruction_of(options.input_type)
    embedding_truncation(base, online.model.profile.max_tokens)
    output = output_spec(base, VectorFormat.of(base), online.model)
    caller = caller_of(request, serving.settings.request_timeout_s)
    return EmbeddingStream(serving, online, base, output, caller, LineToll(meter_of(request)), name)


@dataclass(frozen=True, slots=True)
class EmbeddingStream:
    """The ASGI app of one stream that nothing is wrong with so far.

    Attributes:
        serving: the service.
        online: its model, as the stream found it.
        base: what all lines have in common.
        output: what is wanted of each.
        caller: whose stream it is.
        toll: what its key pays.
        name: the model's, as the query gave it.
    """

    serving: Serving
    online: Online
    base: EmbeddingRequest
    output: OutputSpec
    caller: Caller
    toll: LineToll
    name: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin the answer before the body has ended, and end it with the line that says how it went."""
        tally = Tally(request_id(scope), VectorFormat.of(self.base), self.caller.tenant.name or EVERYONE)
        with self.serving.admission.stream(self.caller.tenant) as place, metrics.STREAMS.track_inprogress():
            window = StreamWindow(self._limits(), self.serving.admission, place)
            hearing = Hearing(receive, self.serving.settings, self._reason_to_stop, window.is_used)
            await hearing.open()
            made_by = (FINGERPRINT.encode(), self.online.fingerprint.encode())
            await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS, made_by]})
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # so that the head goes out
            try:
                end = await self._session(window, hearing, tally, send).run(self.name)
            finally:
                told_of(scope).update(tally.told())
            last = b"".join(lines_in_parts([end]).pieces())
            await send({"type": "http.response.body", "body": last, "more_body": True})
            if not hearing.is_silent:
                await hearing.linger()
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _reason_to_stop(self) -> ServiceError | None:
        if self.serving.is_draining:
            return UnavailableError("server_draining", GOING, retry_after_s=DRAINING_RETRY_S)
        return KeyRefusedError(REVOKED) if self.toll.is_void else None

    def _limits(self) -> QueueLimits:
        settings = self.serving.settings
        return QueueLimits(settings.max_stream_lines, BATCHES * settings.max_batch_tokens, settings.max_body_bytes)

    def _session(self, window: StreamWindow, hearing: Hearing, tally: Tally, send: Send) -> StreamSession:
        settings = self.serving.settings
        return StreamSession(
            online=self.online,
            output=self.output,
            caller=self.caller,
            hearing=hearing,
            splitter=LineSplitter(settings.max_body_bytes),
            reader=ItemReader(
                self.base,
                settings.max_body_bytes,
                self.serving.ignores_unknown_fields,
                self.serving.turns,
                self.serving.bodies,
            ),
            window=window,
            toll=self.toll,
            tally=tally,
            turns=self.serving.turns,
            send=send,
            vector_bytes=self.output.dimensions * COMPONENT_BYTES,
        )
