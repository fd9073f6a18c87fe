"""Routes a running engine's messages: answers to the client, signs of life to the watchdog.

Announcements are read after each answer, at each tick of the watchdog, and once more when the engine has ended.
"""

import asyncio
import logging

import msgspec

from service.engine_series import EngineSeries
from service.front.engine_client.engine_user import EngineUser
from service.front.engine_client.watchdog import Watchdog
from service.ipc.announcements import Announcements
from service.ipc.messages import EngineMessage, SignOfLife, StepReport

logger = logging.getLogger("cenote.supervisor")


class Listening:
    """Listens to one engine.

    Attributes:
        is_out_of_step: what it announces cannot be read any more; it has to be replaced.
    """

    def __init__(
        self, client: EngineUser, watchdog: Watchdog, announcements: Announcements, series: EngineSeries
    ) -> None:
        self.is_out_of_step = False
        self._client = client
        self._watchdog = watchdog
        self._announcements = announcements
        self._series = series

    def take(self, message: EngineMessage) -> None:
        """Hand on a message; the client's tasks go before the watchdog."""
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
            if isinstance(step, StepReport):
                self._series.observe_step(step)
                continue
            self._watchdog.started(step)
            self._client.announced(step)

    def _heard(self, message: SignOfLife) -> None:
        self.look()
        self._watchdog.heard(message.said_s, message.after)
