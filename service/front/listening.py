"""What an engine says, to those whom it concerns: its answers to the client, its signs of life to the watchdog.

What it announces is read behind its answers, at each tick of the watchdog, and once more when it has gone.
"""

import asyncio
import logging

import msgspec

from service.front.client import EngineClient
from service.front.watchdog import Watchdog
from service.ipc.announcements import Announcements
from service.ipc.messages import EngineMessage, SignOfLife

logger = logging.getLogger("cenote.supervisor")


class Listening:
    """To one running engine.

    Attributes:
        is_out_of_step: what it announces cannot be read any more; it has to be replaced.
    """

    def __init__(self, client: EngineClient, watchdog: Watchdog, announcements: Announcements) -> None:
        self.is_out_of_step = False
        self._client = client
        self._watchdog = watchdog
        self._announcements = announcements

    def take(self, message: EngineMessage) -> None:
        """Hand on a message; who waits for it goes first."""
        self._client.receive(message)
        if isinstance(message, SignOfLife):
            asyncio.get_running_loop().call_soon(self._heard, message)

    def look(self) -> None:
        """Read what was announced since the last look."""
        try:
            steps = self._announcements.read()
        except (msgspec.MsgspecError, RuntimeError):
            logger.exception("what the engine announces cannot be read. This is a bug.")
            self.is_out_of_step = True
            return
        for step in steps:
            self._watchdog.started(step)
            self._client.announced(step)

    def _heard(self, message: SignOfLife) -> None:
        self.look()
        self._watchdog.heard(message.said_s, message.after)
