"""A real host of images for tests: what it answers to a path is written down byte for byte."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Script = bytes | Callable[[dict[str, str]], bytes | Iterable[bytes]]
"""The answer of a path: bytes, or what makes them of the request's fields, piece by piece if need be."""


def reply(body: bytes = b"", status: str = "200 OK", **fields: str) -> bytes:
    """A whole answer; `content_type="image/png"` is a field, and an empty value leaves one out."""
    given = {"content-length": str(len(body))} | {name.replace("_", "-"): value for name, value in fields.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return reply(status=status, location=location)


@dataclass
class MediaHost:
    """Listens on a free port; used as a `with`.

    Attributes:
        pages: path to what is answered; a path that is not there is answered 404.
        address: where it listens.
        tls: for https.
        asked: every request so far: its path and its fields.
        num_connections: every connection so far, also those that asked nothing.
        num_open, max_open: requests under way now, and at most.
    """

    pages: dict[str, Script] = field(default_factory=dict)
    address: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    num_connections: int = 0
    num_open: int = 0
    max_open: int = 0

    def __enter__(self) -> "MediaHost":
        self.lock = threading.Lock()
        self.listener = socket.create_server(
            (self.address, 0), family=socket.AF_INET6 if ":" in self.address else socket.AF_INET, backlog=512
        )
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def url(self, path: str, host: str = "localhost") -> str:
        return f"http{'s' if self.tls else ''}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.num_connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            with self.tls.wrap_socket(raw, server_side=True) if self.tls else raw as connection:
                self._answer(connection)
        except OSError:  # the client left, as it may
            return

    def _answer(self, connection: socket.socket) -> None:
        path, fields = _read_request(connection)
        with self.lock:
            self.asked.append((path, fields))
            self.num_open += 1
            self.max_open = max(self.max_open, self.num_open)
        try:
            script = self.pages.get(path, reply(status="404 Not Found"))
            answer = script(fields) if callable(script) else script
            for piece in [answer] if isinstance(answer, bytes) else answer:
                connection.sendall(piece)
        finally:
            with self.lock:
                self.num_open -= 1


def _read_request(connection: socket.socket) -> tuple[str, dict[str, str]]:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError
        head += piece
    first, *lines = head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
    return first.split(" ")[1], {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
