"""A client of `/v1/embeddings/stream` that sends and reads when a test says so, over one socket."""

import http.client
import json
import socket
from collections.abc import Iterable
from typing import Any, Self

from tests.conftest import LiveServer
from tests.raw_socket import address

PATH, NDJSON = "/v1/embeddings/stream", {"content-type": "application/x-ndjson"}

TIMEOUT_S = 180
"""An engine may be started again meanwhile, on a busy machine."""


class StreamClient:
    """One stream.

    Args:
        server: whose.
        query: with its question mark, or nothing.
        headers: more of them, such as `authorization: Bearer KEY`.
        receive_bytes: size of the socket's receive buffer; 0 leaves it to the system.
    """

    def __init__(self, server: LiveServer, query: str = "", *headers: str, receive_bytes: int = 0) -> None:
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(address(server))
        head = [f"POST {PATH}{query} HTTP/1.1", "host: a", "content-type: application/x-ndjson", *headers]
        self.socket.sendall("\r\n".join([*head, "transfer-encoding: chunked", "", ""]).encode())
        self._answer: http.client.HTTPResponse | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    @property
    def answer(self) -> http.client.HTTPResponse:
        """The answer, whose head comes at once."""
        if self._answer is None:
            self._answer = http.client.HTTPResponse(self.socket)
            self._answer.begin()
        return self._answer

    def send(self, *lines: Any) -> None:
        """Send lines in one chunk: bytes as they are, anything else as JSON."""
        self.send_bytes(b"".join(as_line(line) for line in lines))

    def send_bytes(self, raw: bytes) -> None:
        self.socket.sendall(b"%x\r\n%b\r\n" % (len(raw), raw))

    def finish(self) -> None:
        """End the body."""
        self.socket.sendall(b"0\r\n\r\n")

    def read(self) -> dict[str, Any]:
        """The next line; fails when the answer has ended."""
        line = self.answer.readline()
        assert line, "the answer ended without its last line"
        return dict(json.loads(line))

    def read_all(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Read the rest: answers by index, and the last line."""
        lines: list[dict[str, Any]] = []
        while (line := self.read())["type"] != "end":
            lines.append(line)
        assert self.answer.readline() == b"", "something stands behind the last line"
        return sorted(lines, key=lambda line: int(line["index"])), line


def as_line(line: Any) -> bytes:
    return line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"


def exchange(server: LiveServer, lines: Iterable[Any], query: str = "", *headers: str) -> Any:
    """Send all, then read all: for few lines, whose answers fit into buffers."""
    with StreamClient(server, query, *headers) as client:
        client.send(*lines)
        client.finish()
        return client.read_all()
