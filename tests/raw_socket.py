"""HTTP by hand: what no client library would send, and what came back."""

import contextlib
import socket
import time
from dataclasses import dataclass

from tests.conftest import LiveServer

READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Heard:
    """A server's reaction to what it was sent.

    Attributes:
        raw: everything that it answered.
        is_closed: it ended the connection.
        seconds: until the answer was whole, or the connection ended.
    """

    raw: bytes
    is_closed: bool
    seconds: float

    @property
    def status(self) -> int:
        """Of the first answer; 0 when there is none."""
        return int(self.raw[9:12]) if self.raw.startswith(b"HTTP/1.1 ") else 0


def address(server: LiveServer) -> tuple[str, int]:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    return host, int(port)


def connect(server: LiveServer, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(address(server), timeout=10, source_address=(source, 0))


def say(server: LiveServer, sent: bytes, timeout_s: float = 5.0, source: str = "127.0.0.1") -> Heard:
    """Send it all on a new connection, and hear one answer or the end."""
    with connect(server, source) as client:
        with contextlib.suppress(OSError):  # it may have answered and ended already
            client.sendall(sent)
        return receive(client, timeout_s)


def receive(client: socket.socket, timeout_s: float = 5.0) -> Heard:
    """Read until one answer is whole, the connection ends, or the time is over."""
    began_s = time.monotonic()
    raw, is_closed = b"", False
    client.settimeout(timeout_s)
    try:
        while not is_whole(raw):
            received = client.recv(READ_BYTES)
            raw += received
            if not received:
                is_closed = True
                break
    except TimeoutError:
        pass
    except OSError:
        is_closed = True
    return Heard(raw, is_closed, time.monotonic() - began_s)


def is_whole(raw: bytes) -> bool:
    """True if an answer with a length is all there."""
    head, found, body = raw.partition(b"\r\n\r\n")
    lines = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(found and lines) and len(body) >= int(lines[0].split(b":")[1])


def post(path: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: a", "content-type: application/json", *headers]
    return "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body
