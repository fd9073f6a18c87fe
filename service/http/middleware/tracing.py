"""One span per request, with its stages as children, sent by OTLP over HTTP. Needs the extra `otel`.

Spans are sent in batches, from a thread of the SDK's. Nothing of OpenTelemetry is imported before there is a `Tracing`,
which is made only when `--otlp-endpoint` is set.
"""

from typing import Any

from service.http.middleware.access_record import AccessRecord
from service.settings import SettingsError

FIRST_SERVER_ERROR = 500


class Tracing:
    """Sends spans to a collector.

    Args:
        endpoint: the collector's URL for traces.

    Raises:
        SettingsError: the extra is not installed.
    """

    def __init__(self, endpoint: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise SettingsError(
                "--otlp-endpoint: needs the extra `otel`; in a checkout `pip install -e '.[otel]'`"
            ) from None
        resource = Resource.create({"service.name": "cenote"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        self._tracer = self._provider.get_tracer("cenote")

    def export(self, done: AccessRecord) -> str:
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


def _parent(done: AccessRecord) -> Any:
    """The caller's span; an empty context makes the span a trace's first."""
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    if done.trace is None:
        return Context()
    trace_id, span_id = int(done.trace.trace_id, 16), int(done.trace.parent_id, 16)
    flags = TraceFlags(TraceFlags.SAMPLED if done.trace.is_sampled else TraceFlags.DEFAULT)
    return set_span_in_context(NonRecordingSpan(SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)))


def _ns(done: AccessRecord, at_s: float) -> int:
    return done.began_ns + int((at_s - done.began_s) * 1e9)
