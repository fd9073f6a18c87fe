"""What an engine says, to those whom it concerns: its answers to the client, its signs of life to the watchdog.

What it announces is read behind its answers, at each tick of the watchdog, and once more when it has gone.
"""

import asyncio
import time

from service.front.client import EngineClient
from service.front.watchdog import Watchdog
from service.ipc.announcements import Announcements
from service.ipc.messages import EngineMessage, SignOfLife


class Listening:
    """To one running engine."""

    def __init__(self, client: EngineClient, watchdog: Watchdog, announcements: Announcements) -> None:
        self._client = client
        self._watchdog = watchdog
        self._announcements = announcements

    def take(self, message: EngineMessage) -> None:
        """Hand on a message; who waits for it goes first."""
        self._client.receive(message)
        if isinstance(message, SignOfLife):
            asyncio.get_running_loop().call_soon(self._heard, message.after, time.monotonic())

    def look(self) -> None:
        """Read what was announced since the last look."""
        for step in self._announcements.read():
            self._watchdog.started(step)
            self._client.announced(step)

    def _heard(self, after: int, now_s: float) -> None:
        self.look()
        self._watchdog.heard(now_s, after)
