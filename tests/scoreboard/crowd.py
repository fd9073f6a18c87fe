"""Many connections of one address that are slow in some way, from a process of their own: `URL KINDS NUM SECONDS`."""

import itertools
import socket
import sys
import time

from tests.raw_socket import post

HALF = post("/v1/embeddings", b" " * 1000)[:-999]

KINDS: dict[str, tuple[bytes, bytes]] = {
    "idle": (b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n", b""),
    "silent": (b"", b""),
    "head": (b"G", b"G"),
    "body": (HALF, b" "),
}
"""Bytes that each sends at once, and a second later again and again."""

OPEN_PER_S = 500
"""A patient attacker: new connections are not what is measured."""

NUM_PARTS = 10
TICK_S = 0.01
"""A part of the crowd goes on in each: all at once would be a burst."""


class Slow:
    """One connection; `sent_s` is when it last said something."""

    def __init__(self, address: tuple[str, int], kind: str) -> None:
        self.kind = kind
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(address)
        self.sent_s = 0.0

    def go_on(self, now_s: float) -> bool:
        """Say what is due; False where the server has ended it."""
        at_once, again = KINDS[self.kind]
        try:
            if now_s - self.sent_s >= 1:
                self.socket.send(again if self.sent_s else at_once)
                self.sent_s = now_s
            return bool(self.socket.recv(1 << 16))
        except BlockingIOError:
            return True
        except OSError:
            return False


def main(url: str, kinds: list[str], num: int, seconds: float) -> None:
    """Hold as many connections as are left open, and open those again that were ended."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    crowd: list[Slow] = []
    began_s, num_opened = time.monotonic(), 0
    for part in itertools.count():
        if (now_s := time.monotonic()) > began_s + seconds:
            break
        while len(crowd) < num and num_opened < (now_s - began_s) * OPEN_PER_S:
            crowd.append(Slow((host, int(port)), kinds[num_opened % len(kinds)]))
            num_opened += 1
        time.sleep(TICK_S)
        ended = {one for one in crowd[part % NUM_PARTS :: NUM_PARTS] if not one.go_on(now_s)}
        for one in ended:
            one.socket.close()
        crowd = [one for one in crowd if one not in ended]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), float(sys.argv[4]))
