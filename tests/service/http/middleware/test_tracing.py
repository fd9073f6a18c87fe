"""Spans reach a collector over HTTP, with the caller's trace and the request's stages. Needs the extra `otel`."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

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


def test_nothing_of_it_is_imported_unless_it_is_asked_for() -> None:
    import subprocess
    import sys

    code = "import sys, service.app; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
