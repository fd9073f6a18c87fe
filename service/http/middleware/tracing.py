"""The W3C trace of a request, and one span for each request, with its stages as children, sent by OTLP over HTTP.

Needs the extra `otel`. Spans are sent in batches, from a thread of the SDK's. Nothing of OpenTelemetry is imported
before there is a `Tracing`, which is made only when `--otlp-endpoint` is set.
"""

import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from service.accounting import Stages
from service.settings.settings import SettingsError

logger = logging.getLogger("cenote.server")

FIRST_SERVER_ERROR = 500
SAY_EVERY_S = 60.0
"""Between two log lines about a collector that takes no spans."""
_TRACEPARENT = re.compile(
    rb"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
)

EXPORTER = "opentelemetry.exporter"
"""Of the library's loggers, those that say why an export failed: each try, each batch."""


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A trace and the caller's place in it.

    Attributes:
        trace_id: 32 lower-case hex digits, not all zero.
        parent_id: 16 of them: the caller's span.
        is_sampled: the caller records it.
    """

    trace_id: str
    parent_id: str
    is_sampled: bool


def trace_context(sent: bytes) -> TraceContext | None:
    """The `traceparent` of a request; None where it is malformed: the request is served all the same.

    Source: W3C Trace Context (2021), section 3.2. It defines no response header.
    """
    sent = sent.strip()
    found = _TRACEPARENT.match(sent)
    if found is None or found["version"] == b"ff":
        return None
    rest = sent[found.end() :]
    if rest and (found["version"] == b"00" or not rest.startswith(b"-")):  # later versions may append fields
        return None
    if not int(found["trace"], 16) or not int(found["parent"], 16):
        return None
    return TraceContext(found["trace"].decode(), found["parent"].decode(), bool(int(found["flags"], 16) & 1))


class FinishedRequest(NamedTuple):
    """The facts of a span.

    Attributes:
        method: one of HTTP's own, or `other`.
        route: the template of its route, or `other`.
        began_s: when it came, by `time.perf_counter`.
        began_ns: the same by the wall clock, since the epoch.
        trace: the trace that it belongs to, if its headers named one.
    """

    method: str
    route: str
    status: int
    began_s: float
    began_ns: int
    total_s: float
    request_id: str
    trace: TraceContext | None
    stages: Stages


class FailedExports(logging.Handler):
    """Logs that spans do not reach the collector at `where`: the first time, and then once a minute while it lasts."""

    def __init__(self, where: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._where, self._clock = where, clock
        self._num_lost, self._said_s, self._reason = 0, -SAY_EVERY_S, ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the library's first message of an export, which has the cause, instead of logging all."""
        self._reason = self._reason or record.getMessage()

    def count(self, num_lost: int) -> None:
        """Count the spans of an export that failed; 0 of one that did not."""
        reason, self._reason = self._reason, ""
        self._num_lost += num_lost
        if num_lost and self._clock() - self._said_s >= SAY_EVERY_S:
            logger.warning("--otlp-endpoint: %d spans did not reach %s: %s", self._num_lost, self._where, reason)
            self._num_lost, self._said_s = 0, self._clock()


class Tracing:
    """Sends spans to a collector."""

    def __init__(self, endpoint: str) -> None:
        failed = FailedExports(_host_of(endpoint))
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
        except ImportError:
            raise SettingsError(
                "--otlp-endpoint: needs the extra `otel`; in a checkout `pip install -e '.[otel]'`"
            ) from None

        class Exporter(OTLPSpanExporter):
            def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
                result = super().export(spans)
                failed.count(0 if result is SpanExportResult.SUCCESS else len(spans))
                return result

        library = logging.getLogger(EXPORTER)
        library.handlers[:], library.propagate = [failed], False
        resource = Resource.create({"service.name": "cenote"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(Exporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("cenote")

    def export(self, done: FinishedRequest) -> str:
        """Make a finished request a span; gives its trace id."""
        from opentelemetry.trace import SpanKind, StatusCode, format_trace_id, set_span_in_context

        span = self._tracer.start_span(
            f"{done.method} {done.route}",
            context=_parent(done),
            kind=SpanKind.SERVER,
            start_time=done.began_ns,
            attributes={
                "http.request.method": done.method,
                "http.route": done.route,
                "http.response.status_code": done.status,
                "cenote.request_id": done.request_id,
            },
        )
        inside = set_span_in_context(span)
        for name, began_s, ended_s in done.stages.intervals:
            child = self._tracer.start_span(name, context=inside, start_time=_ns(done, began_s))
            child.end(_ns(done, ended_s))
        if done.status >= FIRST_SERVER_ERROR:
            span.set_status(StatusCode.ERROR)
        span.end(_ns(done, done.began_s + done.total_s))
        return str(format_trace_id(span.get_span_context().trace_id))

    def close(self) -> None:
        """Send the spans that wait, and end."""
        self._provider.shutdown()


def _host_of(endpoint: str) -> str:
    """Host and port of a collector's URL; an error does not repeat it, since it may hold a password."""
    try:
        parts = urlsplit(endpoint)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts.netloc.rpartition("@")[2]
    except ValueError:  # a port that is none
        pass
    raise SettingsError(
        "--otlp-endpoint: expected http:// or https://, a host and a path, such as http://localhost:4318/v1/traces; "
        "got another"
    )


def _parent(done: FinishedRequest) -> Any:
    """The caller's span; an empty context makes the span a trace's first."""
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    if done.trace is None:
        return Context()
    trace_id, span_id = int(done.trace.trace_id, 16), int(done.trace.parent_id, 16)
    flags = TraceFlags(TraceFlags.SAMPLED if done.trace.is_sampled else TraceFlags.DEFAULT)
    return set_span_in_context(NonRecordingSpan(SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)))


def _ns(done: FinishedRequest, at_s: float) -> int:
    return done.began_ns + int((at_s - done.began_s) * 1e9)
