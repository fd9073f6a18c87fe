"""Keeps one engine process running: starts it, watches it, restarts it.

An engine that is silent for too long, or fails its health probe, is ended here.
"""

import asyncio
import logging
import math
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from service.engine_series import EngineSeries
from service.errors import ModelError, ServiceError
from service.front.engine_client.engine_host import DRAINING, RESTARTING, EngineState, Refusal
from service.front.engine_client.engine_process import EngineProcess
from service.front.engine_client.engine_user import EngineUser
from service.front.engine_client.listening import Listening
from service.front.engine_client.watchdog import Breaker, StepTimes, SupervisorTimeouts, Watchdog
from service.ipc.channel import AsyncChannel
from service.ipc.messages import Broken, EngineMessage, Ready, Start

logger = logging.getLogger("cenote.supervisor")

MIN_BACKOFF_S = 0.5
MAX_BACKOFF_S = 30.0
TICK_S = 0.5
"""How often the engine is asked for a sign of life, and its silence looked at."""


class EngineBrokenError(Exception):
    """The engine says that it can never start: a bad checkpoint, a device that is not there."""


@dataclass(slots=True)
class Supervisor:
    """One engine, restarted with backoff, until a breaker says that this leads nowhere.

    The backoff doubles while engines end before they were ready; one that was ready is replaced at once. The breaker
    counts both.

    Attributes:
        start: the first message to every new engine.
        spawn: starts a process that waits for `start`.
        client: attached when an engine is ready, detached when it has gone.
        known_answer: the health probe, through the whole path; raises when the answer is not the first engine's.
        series: count its restarts and what it reports.
        patience: its limits.
        state: as `/readyz` has it.
        detail: one sentence on the state, or None.
        ready: the last engine's own facts.
        process: the engine.
    """

    start: Start
    spawn: Callable[[], Awaitable[EngineProcess]]
    client: EngineUser
    known_answer: Callable[[], Awaitable[None]]
    series: EngineSeries
    patience: SupervisorTimeouts = field(default_factory=SupervisorTimeouts)
    state: EngineState = "loading"
    detail: str | None = "the model is loading"
    ready: Ready | None = None
    process: subprocess.Popen[bytes] | None = None
    _ready_s: float | None = None
    _start_s: float = 0.0
    _is_over: bool = False
    _times: StepTimes = field(default_factory=StepTimes)
    _listening: Listening | None = None

    async def run(self) -> None:
        """Keep an engine running until `end`, or cancelled.

        Raises:
            EngineBrokenError: it cannot start at all.
        """
        breaker = Breaker(self.patience.breaker_deaths)
        backoff_s = MIN_BACKOFF_S
        while not self._is_over:
            self._ready_s = None
            try:
                await self._one_engine()
            except OSError:  # no process, no descriptors: that may pass
                logger.exception("no engine could be started")
            finally:
                self._kill()
            if self._is_over:
                return
            self.series.engine_restarts.inc()
            lived_s = 0.0 if self._ready_s is None else time.monotonic() - self._ready_s
            if breaker.died(time.monotonic(), lived_s) and self.patience.breaker_wait_s:
                await self._leave_alone()
                continue
            backoff_s = MIN_BACKOFF_S if self._ready_s is not None else min(MAX_BACKOFF_S, 2 * backoff_s)
            logger.error("the engine ended; starting another in %.1f s", backoff_s)
            await asyncio.sleep(backoff_s)

    def end(self) -> None:
        """End the engine and start no other; requests that still wait fail."""
        self._is_over = True
        self.client.refusal = DRAINING
        self.client.give_up()
        self._kill()

    def look(self) -> None:
        """Read what the engine has announced and reported so far."""
        if self._listening is not None:
            self._listening.look()

    async def _leave_alone(self) -> None:
        """Fail what waits while the breaker is open, then let one engine be tried."""
        wait_s = self.patience.breaker_wait_s
        self.state, self.detail = "crash_loop", f"the engine ended too often; one is tried every {wait_s:g} s"
        logger.error("the engine ended too often; trying another in %g s", wait_s)
        self.series.breaker_open.set(1)
        self.client.refusal = Refusal(
            "engine_restarting", "the engine ended too often and is left alone for a while", math.ceil(wait_s)
        )
        self.client.give_up()
        await asyncio.sleep(wait_s)

    async def _one_engine(self) -> None:
        began_s = time.monotonic()
        engine = await self._spawn()
        try:
            first = await self._first_word(engine.channel)
            if isinstance(first, Broken):
                self._note_broken(first)
            if isinstance(first, Ready):
                self._check_same_model(first)
                self.ready = first
                self._start_s = time.monotonic() - began_s
                await self._serve(engine)
        finally:
            self._not_ready("the engine is restarting")
            self.client.detach()
            engine.close()

    async def _first_word(self, channel: AsyncChannel[EngineMessage]) -> EngineMessage | None:
        """What an engine says once it is loaded, or cannot be; None when it has ended, or takes too long."""
        try:
            async with asyncio.timeout(self.patience.load_s):
                return await channel.receive()
        except TimeoutError:
            logger.error("the engine was not loaded within %g s; it is ended", self.patience.load_s)
            self.series.engine_stuck.inc()
            return None

    def _not_ready(self, detail: str) -> None:
        if self.state in ("ready", "loading"):
            self.state, self.detail = "restarting", detail
        self.series.engine_ready.set(0)

    def _note_broken(self, broken: Broken) -> None:
        """A first engine that cannot load never will; a later one may find what it needs the next time."""
        if self.ready is None:
            self.state = "failed"
            raise EngineBrokenError(broken.reason)
        logger.error("the engine could not load: %s", broken.reason)

    def _check_same_model(self, ready: Ready) -> None:
        """All engines of one service are one model: what the front has read of its files, and told of it, holds on."""
        if self.ready is not None and ready.model_digest != self.ready.model_digest:
            self.state = "failed"
            raise EngineBrokenError("the model's files are not those that this service was started with; start it anew")

    async def _serve(self, engine: EngineProcess) -> None:
        watchdog = Watchdog(self.patience.stuck_s, times=self._times)
        self.client.attach(engine.channel)
        self._listening = listening = Listening(self.client, watchdog, engine.announcements, self.series)
        minders = [asyncio.create_task(self._watch(watchdog, listening)), asyncio.create_task(self._ask_forever())]
        try:
            await engine.channel.each(listening.take)
        finally:
            for minder in minders:
                minder.cancel()
            listening.look()  # what it had entered when it ended
            self._listening = None

    async def _watch(self, watchdog: Watchdog, listening: Listening) -> None:
        """End an engine that says nothing for longer than it may: a stopped process, a device that hangs."""
        last_s = time.monotonic()
        while True:
            self.client.ping()
            await asyncio.sleep(TICK_S)
            listening.look()
            if listening.is_out_of_step:
                self._discard("the engine could not be understood and is restarting")
                return
            now_s = time.monotonic()
            if watchdog.tick(now_s - last_s):
                logger.error("the engine is stuck: silent for more than %.1f s; it is ended", watchdog.limit_s)
                self.series.engine_stuck.inc()
                self._discard("the engine was stuck and is restarting")
                return
            last_s = now_s

    async def _ask_forever(self) -> None:
        """Run the health probe until it fails; the first success opens the engine to all requests."""
        while await self._is_right():
            if self.state != "ready":
                self._become_ready()
            await asyncio.sleep(self.patience.known_answer_s)

    async def _is_right(self) -> bool:
        """Whether the engine may go on. Late is not wrong: under load the probe waits like any request."""
        try:
            await self.known_answer()
        except ModelError as error:
            self.series.wrong_answers.inc()
            logger.error("this engine is not used: %s", error)
        except (ServiceError, TimeoutError) as error:
            if self.state == "ready":
                logger.warning("the known question was not answered in time: %s", type(error).__name__)
                return True
            logger.error("the known question was not answered; this engine is not used")
        except Exception:
            logger.exception("the known question could not be asked; this engine is not used. This is a bug.")
        else:
            return True
        self._discard("the engine failed its known-answer check and is restarting")
        return False

    def _discard(self, detail: str) -> None:
        """Not ready from this moment on, then end the process; the rest follows when its socket closes."""
        self.client.close()
        self._not_ready(detail)
        self._kill()

    def _become_ready(self) -> None:
        self.client.refusal = RESTARTING
        self.client.open()
        self._ready_s = time.monotonic()
        self.state, self.detail = "ready", None
        self.series.engine_ready.set(1)
        self.series.breaker_open.set(0)
        assert self.ready is not None  # the engine said Ready before it was served
        what = f"{self.ready.num_parameters / 1e6:.1f} M parameters, {self.ready.dtype} on {self.ready.device}"
        logger.info("ready: %s, loaded in %.1f s, started in %.1f s", what, self.ready.load_s, self._start_s)

    async def _spawn(self) -> EngineProcess:
        engine = await self.spawn()
        self.process = engine.process
        engine.channel.send(self.start)
        return engine

    def _kill(self) -> None:
        """End the process, if there is one. A thread reaps it: with a device to let go, that can take seconds."""
        if self.process is not None:
            self.process.kill()
            threading.Thread(target=self.process.wait, daemon=True).start()
