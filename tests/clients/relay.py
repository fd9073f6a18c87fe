"""A relay between a client and the live server: it keeps what the client sent, and can play a full queue.

In: the server's address. Out: an address of its own, and the list of requests. What it forwards, it forwards unchanged.
"""

import http.client
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOP_HEADERS = ("connection", "transfer-encoding", "keep-alive", "date", "server")
BUSY = {"message": "the queue is full", "type": "overloaded_error", "param": None, "code": "overloaded"}
BUSY_HEADERS = {"content-type": "application/json", "retry-after": "1", "retry-after-ms": "1000"}
"""As `service.http.errors` answers a full queue."""


@dataclass(frozen=True)
class Sent:
    """One request of the client; header names are in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Relay(ThreadingHTTPServer):
    """Listens on a free port of this machine.

    Attributes:
        sent: what came in, in order of arrival.
        num_busy: how many of the next requests are told to come back in a second.
    """

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), RelayHandler)
        self.target = urlsplit(target).netloc
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.sent: list[Sent] = []
        self.num_busy = 0
        self._turn = threading.Lock()

    def take(self, sent: Sent) -> bool:
        """Keep a request; whether it is to be forwarded."""
        with self._turn:
            self.sent.append(sent)
            self.num_busy -= 1
            return self.num_busy < 0

    def inputs(self, field: str) -> list[Any]:
        """That field of each request."""
        return [sent.body[field] for sent in self.sent]


class RelayHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Relay

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.server.take(Sent(self.path, headers, json.loads(raw))):
            self._forward(raw, headers)
        else:
            self._answer(503, BUSY_HEADERS, json.dumps({"message": BUSY["message"], "error": BUSY}).encode())

    def _forward(self, raw: bytes, headers: dict[str, str]) -> None:
        upstream = http.client.HTTPConnection(self.server.target, timeout=60)
        kept = {name: value for name, value in headers.items() if name not in (*HOP_HEADERS, "host")}
        upstream.request("POST", self.path, raw, kept)
        answer = upstream.getresponse()
        back = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_HEADERS}
        self._answer(answer.status, back, answer.read())
        upstream.close()

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: object) -> None:
        """Stay silent: pytest shows what failed."""
