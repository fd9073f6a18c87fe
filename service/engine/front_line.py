"""The engine's ends of a front's socket and pipe. No front may hold up the others, or the engine.

A message goes out in one call as long as the socket takes it; the rest of it, and what follows, waits in an outbox for
a thread of its own. What waits is bounded by the front's own queue: it is answers to what it asked.
"""

import os
import queue
import socket  # noqa: TID251  # a socket pair
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import msgspec

from service.engine.fronts import Joined, Left
from service.ipc.channel import BlockingChannel, frame
from service.ipc.descriptors import GUEST, MAX_DESCRIPTORS, MAX_PACKET_BYTES
from service.ipc.messages import FrontMessage, StepStarted

MAX_UNREAD_STEPS = 4096
"""Announcements that are kept for a front whose pipe is full. One that has stopped for longer learns of no more."""


class SocketLine:
    """A front's line; its messages come in by a thread, which ends with it."""

    def __init__(self, sock: socket.socket, pipe: int) -> None:
        self._sock = sock
        self._pipe = pipe
        os.set_blocking(pipe, False)
        self._steps: deque[memoryview] = deque()
        self._outbox: queue.SimpleQueue[bytes | memoryview | None] | None = None
        self._num_unsent = 0
        self._lock = threading.Lock()

    def send(self, message: msgspec.Struct) -> None:
        """Hand a message to the front; nothing where it has gone."""
        whole = memoryview(frame(message))
        with self._lock:
            if self._outbox is not None and self._num_unsent:
                self._put(whole)
                return
        try:
            num_sent = self._sock.send(whole, socket.MSG_DONTWAIT)
        except BlockingIOError:
            num_sent = 0
        except OSError:
            return
        if num_sent < len(whole):
            with self._lock:
                self._put(whole[num_sent:])

    def announce(self, step: StepStarted) -> None:
        """Enter a step into the front's pipe; nothing where it has gone, or has not looked for too long."""
        if len(self._steps) < MAX_UNREAD_STEPS:
            self._steps.append(memoryview(frame(step)))
        with suppress(OSError):  # full, or the front has exited
            while self._steps:
                self._steps[0] = self._steps[0][os.write(self._pipe, self._steps[0]) :]
                if not self._steps[0]:
                    self._steps.popleft()

    def close(self) -> None:
        """Close both; the reading thread and the sending one end."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._outbox is not None:
            self._outbox.put(None)

    def read_forever(self, index: int, inbox: "queue.Queue[FrontMessage | Joined | Left]") -> None:
        """Announce itself to the engine's inbox, then move messages there until the front has exited."""
        channel: BlockingChannel[FrontMessage] = BlockingChannel(self._sock, FrontMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
        inbox.put(Joined(index, self))
        with suppress(OSError):
            while (message := channel.receive()) is not None:
                inbox.put(message)
        inbox.put(Left(index, self))

    def _put(self, part: memoryview) -> None:
        if self._outbox is None:
            self._outbox = queue.SimpleQueue()
            threading.Thread(target=self._send_forever, args=(self._outbox,), daemon=True).start()
        self._num_unsent += 1
        self._outbox.put(part)

    def _send_forever(self, outbox: "queue.SimpleQueue[bytes | memoryview | None]") -> None:
        with suppress(OSError):
            while (part := outbox.get()) is not None:
                self._sock.sendall(part)
                with self._lock:
                    self._num_unsent -= 1


def accept_fronts(
    passed: socket.socket, inbox: "queue.Queue[FrontMessage | Joined | Left]", open_guest: Callable[[list[int]], None]
) -> None:
    """Take in fronts indefinitely, each its index with its socket and pipe; for `open_guest` see `engine.run`."""
    while True:
        name, descriptors, _, _ = socket.recv_fds(passed, MAX_PACKET_BYTES, MAX_DESCRIPTORS)
        if not name:
            return  # the keeper has gone
        if name == GUEST:
            open_guest(list(descriptors))
            continue
        line = SocketLine(socket.socket(fileno=descriptors[0]), descriptors[1])
        threading.Thread(target=line.read_forever, args=(int(name), inbox), daemon=True).start()
