"""A front's place in the main process: its process, started again whenever it ends, and the lines to it."""

import asyncio
import logging
import os
import signal
import socket  # noqa: TID251  # socket pairs
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from service.front.admission.shared_table import SharedRows
from service.front.hub.engine_lines import EngineLink
from service.http.server.peers import Tally
from service.ipc.channel import AsyncChannel
from service.ipc.descriptors import open_passing, pass_descriptors
from service.processes.messages import Answered, Questions, StartFront, ToMain
from service.settings.settings import Settings

logger = logging.getLogger("cenote.main")

MIN_BACKOFF_S = 0.2
MAX_BACKOFF_S = 10.0
EXIT_S = 5.0
"""A process whose lines have closed has this long to end."""
LIVED_S = 30.0
"""A front that has served so long is replaced at once when it ends."""
LATE_S = 2.0
"""A front that was not heard for so long gets no more connections while another is heard."""
STUCK_S = 20.0
"""A front that was not heard for so long is killed; it speaks every half second."""
ANSWER_S = 5.0
"""A front that does not answer a question for so long is left out."""
MAX_STEP_S = 1.0
"""Silence that one look can add: whoever could not look before could not hear either."""

IDS_OF_A_FRONT = 1 << 40
"""Requests of a front, and of each that takes its place: an engine never sees an id twice."""


class FrontLines(NamedTuple):
    """The lines to a front's process: of messages, and by which it is given descriptors."""

    channel: AsyncChannel[ToMain]
    passing: socket.socket


class FrontProcess:
    """One of the fronts: a `HubFront`.

    Args:
        index: its place among all.
        num_fronts: of all.
        rows: of the counts of all fronts; its own is cleared when the process has ended.
        arenas: descriptors of the shared memory for pixels of each model.
        take: is handed each message.

    Attributes:
        is_serving: connections may be handed over.
        connections: handed over and not ended.
        silent_s: since it was heard, while it serves.
    """

    def __init__(
        self,
        index: int,
        settings: Settings,
        num_fronts: int,
        rows: SharedRows,
        arenas: Sequence[int],
        take: Callable[["FrontProcess", ToMain], None],
    ) -> None:
        self.index = index
        self.process: subprocess.Popen[bytes] | None = None
        self.is_serving = False
        self.links = [EngineLink() for _ in settings.of_each_model]
        self.connections = Tally()
        self.silent_s = 0.0
        self._settings = settings
        self._num_fronts = num_fronts
        self._rows = rows
        self._arenas = arenas
        self._take = take
        self._lines: FrontLines | None = None
        self._questions = Questions(self.tell, ANSWER_S)
        self._num_started = 0
        self._is_over = False

    async def run(self) -> None:
        """Keep a process running until `end`."""
        backoff_s = MIN_BACKOFF_S
        while not self._is_over:
            began_s = time.monotonic()
            try:
                await self._one_process()
            except OSError:
                logger.exception("no front could be started")
            finally:
                self.signal(signal.SIGKILL)
            if self._is_over:
                return
            lived_long = time.monotonic() - began_s >= LIVED_S
            backoff_s = MIN_BACKOFF_S if lived_long else min(MAX_BACKOFF_S, 2 * backoff_s)
            logger.error("front %d ended; starting another in %.1f s", self.index, backoff_s)
            await asyncio.sleep(backoff_s)

    def end(self) -> None:
        """Start no other process once this one ends."""
        self._is_over = True

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    @property
    def num_ready(self) -> int:
        """Models whose engines have passed its health probe."""
        return sum(link.is_ready for link in self.links)

    @property
    def is_late(self) -> bool:
        """True if it should have been heard by now."""
        return self.silent_s >= LATE_S

    def look(self, passed_s: float) -> None:
        """Count the time since the last look as silence, and kill a process that is stuck."""
        if not self.is_serving:
            return
        self.silent_s += min(passed_s, MAX_STEP_S)
        if self.silent_s >= STUCK_S:
            logger.error("front %d is stuck: silent for %.0f s; killing it", self.index, self.silent_s)
            self.silent_s = 0.0
            self.signal(signal.SIGKILL)

    def _hear(self, message: ToMain) -> None:
        self.silent_s = 0.0
        if isinstance(message, Answered):
            self._questions.on_answered(message)
        else:
            self._take(self, message)

    async def series(self) -> bytes:
        """Its own series; nothing where it does not answer."""
        return b"" if self.is_late else await self._questions.series()

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        """Ask for the content of a name there; empty where it has none, or the front does not answer."""
        return b"" if self.is_late else await self._questions.find_uuid(tenant, uuid)

    def connect(self, model: int, number: int, descriptors: tuple[int, int]) -> bool:
        """Give it its ends of socket and pipe to an engine; see `HubFront.connect`."""
        return self.pass_descriptors(b"engine %d %d" % (model, number), descriptors)

    def tell(self, message: msgspec.Struct) -> None:
        """Tell it something; nothing where it has gone."""
        if self._lines is not None:
            self._lines.channel.send(message)

    def pass_descriptors(self, packet: bytes, descriptors: Iterable[int]) -> bool:
        """Give it descriptors; False where it has gone, or does not take them now."""
        if self._lines is None:
            return False
        try:
            return pass_descriptors(self._lines.passing, packet, list(descriptors))
        except OSError:
            return False

    async def _one_process(self) -> None:
        ours, theirs = socket.socketpair()
        passing, passed = open_passing()
        with theirs, passed:
            descriptors = [theirs.fileno(), passed.fileno(), self._rows.descriptor, *self._arenas]
            self.process = process = subprocess.Popen(
                # -P: the folder that this was started in must not come before the installed packages.
                [sys.executable, "-P", "-m", "service.processes.front_worker", *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is the main process's to handle
                env=os.environ,
            )
        channel: AsyncChannel[ToMain] = await AsyncChannel.over(ours, ToMain)  # type: ignore[arg-type]  # a union is a type to msgspec
        self._lines = FrontLines(channel, passing)
        first_id = self.index + self._num_fronts * (1 + self._num_started * IDS_OF_A_FRONT)
        self._num_started += 1
        start = StartFront(settings=self._settings, index=self.index, num_fronts=self._num_fronts, first_id=first_id)
        channel.send(start)
        try:
            await channel.each(self._hear)
        finally:
            self._lines = None
            channel.close()
            passing.close()
            self._questions.close()
            self.is_serving = False
            self.links = [EngineLink() for _ in self.links]
            self.connections = Tally()
            self.silent_s = 0.0
            await asyncio.to_thread(_reap, process)
            self._rows.clear(self.index)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process: its lines have closed, so it has ended, or is ended now."""
    try:
        process.wait(EXIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
