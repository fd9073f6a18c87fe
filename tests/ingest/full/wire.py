"""A wire to a server that can be cut: connections end, and none is made until it is mended."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable


class Wire:
    """Forwards connections, byte by byte.

    Args:
        connect: makes a connection to the server.

    Attributes:
        port: where it listens.
        num_cut: connections that were cut.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.num_cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections, and refuse others."""
        self._is_whole.clear()
        for pair in self._pairs:
            self.num_cut += 1
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def mend(self) -> None:
        """Let connections through again."""
        self._is_whole.set()

    def _accept(self) -> None:
        while True:
            near, _ = self._listening.accept()
            try:
                if not self._is_whole.is_set():
                    raise OSError
                far = self._connect()
            except OSError:
                near.close()
                continue
            self._pairs.append((near, far))
            threading.Thread(target=_forward, args=(near, far), daemon=True).start()


def to_port(port: int) -> Callable[[], socket.socket]:
    """Connects to a port of this machine."""
    return lambda: socket.create_connection(("127.0.0.1", port))


def to_file(path: str) -> Callable[[], socket.socket]:
    """Connects to a socket with a name."""

    def connect() -> socket.socket:
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        return one

    return connect


def _forward(near: socket.socket, far: socket.socket) -> None:
    with near, far, selectors.DefaultSelector() as waiting:
        waiting.register(near, selectors.EVENT_READ, far)
        waiting.register(far, selectors.EVENT_READ, near)
        while True:
            for key, _ in waiting.select():
                try:
                    content = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                    if not content:
                        return
                    key.data.sendall(content)
                except OSError:
                    return
