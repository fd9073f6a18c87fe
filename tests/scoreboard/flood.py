"""Bodies in tiny pieces on a few connections at a stated rate, from a process of their own: `URL KIND SECONDS`."""

import contextlib
import socket
import sys
import time

NUM_CONNECTIONS = 16
BYTES_PER_S = 12_000_000
TICK_S = 0.01
PIECES = 2_000
"""Times that what is repeated stands in one write."""

HEAD = "POST {} HTTP/1.1\r\nhost: a\r\ncontent-type: application/{}\r\ntransfer-encoding: chunked\r\n\r\n"
STREAM = "/v1/embeddings/stream"
BLANK = b"8000\r\n" + b"\n" * 0x8000 + b"\r\n"

KINDS: dict[str, tuple[str, bytes]] = {
    "lines to no route": (HEAD.format("/nowhere", "x-ndjson"), b'c\r\n{"input":""}\r\n' * PIECES),
    "lines that are chunks": (HEAD.format(STREAM, "x-ndjson"), b'c\r\n{"input":0}\n\r\n' * PIECES),
    "blank lines": (HEAD.format(STREAM, "x-ndjson"), BLANK),
    "chunks of 64 bytes": (HEAD.format("/v1/embeddings", "json"), (b"40\r\n" + b" " * 64 + b"\r\n") * PIECES),
}
"""Bytes that each is sent once, and then again and again."""


class Flooder:
    """One connection after the other, each opened when the one before was ended."""

    def __init__(self, address: tuple[str, int], head: bytes, again: bytes) -> None:
        self._address, self._head, self._again = address, head, again
        self._left = b""
        self._socket: socket.socket | None = None

    def send(self, num_bytes: int) -> None:
        """Send so many bytes, or as many as are taken at once; pass over what is answered."""
        if self._socket is None:
            self._socket = socket.create_connection(self._address)
            self._socket.setblocking(False)
            self._left = self._head
        try:
            with contextlib.suppress(BlockingIOError):
                if not self._socket.recv(1 << 16):
                    raise ConnectionResetError
            with contextlib.suppress(BlockingIOError):
                while num_bytes > 0:
                    self._left = self._left or self._again
                    num_sent = self._socket.send(self._left[:num_bytes])
                    self._left, num_bytes = self._left[num_sent:], num_bytes - num_sent
        except OSError:
            self._socket.close()
            self._socket = None


def main(url: str, kind: str, seconds: float) -> None:
    """Flood."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    head, again = KINDS[kind]
    flooders = [Flooder((host, int(port)), head.encode(), again) for _ in range(NUM_CONNECTIONS)]
    until_s = time.monotonic() + seconds
    due_s = time.monotonic()
    while (now_s := time.monotonic()) < until_s:
        for flooder in flooders:
            flooder.send(int(BYTES_PER_S * TICK_S / NUM_CONNECTIONS))
        due_s = max(due_s + TICK_S, now_s)
        time.sleep(max(0.0, due_s - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
