"""Spans reach a collector over HTTP, with the caller's trace and the request's stages. Needs the extra `otel`."""

import logging
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from service.app import create_app
from service.front.hub.hosted_front import HostedFront
from service.http.middleware.tracing import FailedExports, Tracing
from service.settings.settings import Settings, SettingsError
from tests.conftest import CHECKPOINT, LiveServer

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class Collector(HTTPServer):
    """Hears spans as OTLP's protobuf."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Ear)
        self.spans: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"


class Ear(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:  # the library's name
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        raw = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            raw = gzip.decompress(raw)
        for resource in ExportTraceServiceRequest.FromString(raw).resource_spans:
            for scope in resource.scope_spans:
                self.server.spans += scope.spans
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.slow
def test_a_request_is_a_span_of_its_callers_trace_with_its_stages_as_children(
    collector: Collector, start_server: Callable[..., LiveServer]
) -> None:
    flags = ("--model", str(CHECKPOINT), "--log-format", "json", "--otlp-endpoint", collector.url)
    server = start_server(*flags).wait_until_ready()
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "x-request-id": "spanned"}
    server.http.post("/v1/embeddings", json={"input": "x"}, headers=headers).raise_for_status()
    assert server.status("/nothing") == 404  # a trace of its own
    server.stop()  # sends what waits
    mine = [span for span in collector.spans if span.trace_id.hex() == TRACE]
    (root,) = [span for span in mine if span.parent_span_id.hex() == PARENT]
    said = {one.key: one.value.string_value or one.value.int_value for one in root.attributes}
    assert root.name == "POST /v1/embeddings"
    assert said == {
        "http.request.method": "POST",
        "http.route": "/v1/embeddings",
        "http.response.status_code": 200,
        "cenote.request_id": "spanned",
    }
    children = [span for span in mine if span.parent_span_id == root.span_id]
    assert [span.name for span in children if span.name != "write"] == ["body", "decode", "prepare", "media", "engine"]
    for span in children:
        assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= root.end_time_unix_nano
    assert f'"trace_id":"{TRACE}"' in server.log.read_text()
    assert len({span.trace_id for span in collector.spans}) > 1


@pytest.mark.parametrize(
    "url",
    ["localhost:4318", "grpc://localhost:4317", "http:///v1/traces", "http://h:4x/", "http://h:0/", "h", "unix:/a", ""],
)
def test_an_endpoint_that_is_no_address_stops_the_start(url: str) -> None:
    settings = Settings(otlp_endpoint=url)
    with pytest.raises(SettingsError, match="--otlp-endpoint: expected http:// or https://, a host"):
        create_app(settings, HostedFront(settings))


def test_exports_that_fail_are_said_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """The library says it for each try of each batch, and never the setting."""
    from opentelemetry.sdk.trace import TracerProvider

    with HTTPServer(("127.0.0.1", 0), Refusal) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tracing = Tracing(f"http://user:hidden@127.0.0.1:{server.server_port}/")
        provider: TracerProvider = tracing._provider
        for _ in range(3):
            provider.get_tracer("t").start_span("one").end()
            provider.force_flush()
        tracing.close()
        server.shutdown()
    assert [(record.levelname, record.name) for record in caplog.records] == [("WARNING", "cenote.server")]
    said = caplog.messages[0]
    assert said.startswith(f"--otlp-endpoint: 1 spans did not reach 127.0.0.1:{server.server_port}: "), said
    assert "404" in said
    assert "hidden" not in said


def test_while_it_lasts_the_next_line_has_all_that_were_lost_since(caplog: pytest.LogCaptureFixture) -> None:
    now_s = [0.0]
    failed = FailedExports("h:4318", clock=lambda: now_s[0])
    for now_s[0], num_lost in ((1000.0, 5), (1030.0, 7), (1059.0, 0), (1061.0, 2), (1062.0, 3)):
        failed.emit(logging.makeLogRecord({"msg": "refused"}))
        failed.count(num_lost)
    assert [message.split()[1] for message in caplog.messages] == ["5", "9"]


class Refusal(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # the library's name
        self.rfile.read(int(self.headers["content-length"]))
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_nothing_of_it_is_imported_unless_it_is_asked_for() -> None:
    import subprocess
    import sys

    rare = "('opentelemetry', 'markdown_it', 'service.openapi')"
    code = f"import sys, service.app; sys.exit(any(name.startswith({rare}) for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
