"""Keeps one model's engine running for all fronts: starts it, watches it, restarts it.

An engine that is silent for too long, or fails the health probe of a front, is ended here.
"""

import asyncio
import logging
import math
import subprocess
import threading
import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from service.checkpoint.hub import canonical_name
from service.engine_series import EngineSeries
from service.front.engine_client.front_link import (
    RESTARTING,
    EngineBroken,
    EngineBrokenError,
    EngineReport,
    EngineState,
    EngineStatus,
    GiveUp,
    Loaded,
    ProbeResult,
    Refusal,
    SuspectNews,
    SuspectReport,
)
from service.front.hub.engine_lines import EngineLines, HubFront
from service.front.hub.engine_process import EngineProcess, join_engine, start_engine
from service.front.hub.launch import Launched, launch
from service.front.hub.watchdog import Breaker, Watchdog
from service.front.served_model import name_of
from service.ipc.arena import create_shared_file
from service.ipc.channel import AsyncChannel
from service.ipc.messages import Broken, EngineMessage, Ping, Ready, SignOfLife, Start, StepReport
from service.settings.settings import Settings

logger = logging.getLogger("cenote.supervisor")

LOAD_S = 1800.0
"""Most that an engine may take to load."""
BREAKER_DEATHS = 5
"""Ends of engines within a minute that open the breaker."""
MIN_BACKOFF_S = 0.5
MAX_BACKOFF_S = 30.0
TICK_S = 0.5
"""Interval at which the engine is asked for a sign of life, and its silence looked at."""
LOOK_S = 0.1
"""Interval at which its announcements are read."""


class EngineKeeper:
    """One engine, restarted with backoff, until a breaker says that this leads nowhere.

    The backoff doubles while engines end before they were ready; one that was ready is replaced at once. The breaker
    counts both. The first engine is started once a front has read the model's files.

    Args:
        settings: of the service, as they are for this model.
        fronts: of which some may be starting.
        launched: processes that wait for its lines; each engine takes one, or starts its own.

    Attributes:
        name: the model's, which answers have.
        host: in whose engine's process this one runs: its own, or that of a model whose weights it shares.
        was_ready: a front's health probe has passed once.
        has_failed: there can never be an engine.
    """

    def __init__(
        self,
        settings: Settings,
        model: int,
        fronts: Sequence[HubFront],
        num_fronts: int,
        launched: Sequence[Launched] = (),
    ) -> None:
        self.status = EngineStatus(model=model, state="loading", detail="the model is loading", refusal=RESTARTING)
        self.ready: Ready | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.host = self
        self.has_failed = self.was_ready = False
        self._settings = settings
        self._model = model
        self._fronts = fronts
        self._num_fronts = num_fronts
        self._launched = list(launched)
        self.name = name_of(settings.served_name, canonical_name(settings.model))
        self._series = EngineSeries(self.name)  # 0 while it loads
        self._lines = EngineLines(model, fronts)
        self._watchdog = Watchdog(settings.engine_stuck_s)
        self._engine: EngineProcess | None = None
        self._ready_s = math.inf  # when it became ready
        self._start_s = 0.0
        self._keeping: asyncio.Task[None] | None = None

    @cached_property
    def arena(self) -> int:
        """Descriptor of the shared memory for pixels, with a part for each front."""
        return create_shared_file(self._num_fronts * self._settings.pixel_arena_bytes)

    @property
    def is_kept(self) -> bool:
        """True if a front has read the model's files."""
        return self._keeping is not None

    @property
    def is_ready(self) -> bool:
        """True if it answers now."""
        return self.status.state == "ready"

    def on_report(self, front: HubFront, message: EngineReport) -> None:
        """Hear what a front says."""
        match message:
            case Loaded(start=start):
                front.links[self._model].is_loaded = True
                if self._keeping is None:
                    self._keeping = asyncio.create_task(self._keep(start))
                self._lines.connect_all()
            case ProbeResult():
                if message.engine == self._lines.number and self._lines.is_attached:
                    self._on_probe(front, message)
            case SuspectReport(digests=digests):
                for other in self._fronts if digests else ():
                    if other is not front:
                        other.tell(SuspectNews(model=self._model, digests=digests))

    def look(self) -> None:
        """Read what the engine has announced and reported so far."""
        try:
            read = [] if self._engine is None else self._engine.announcements.read()
        except (msgspec.MsgspecError, RuntimeError):
            logger.exception("the engine's announcements cannot be read. This is a bug.")
            self._discard("the engine could not be understood and is restarting")
            return
        for one in read:
            if isinstance(one, StepReport):
                self._series.observe_step(one)
                self._watchdog.heard(one.said_s, one.after)
            else:
                self._watchdog.heard(one.began_s, one.number - 1)
                self._watchdog.step = one

    async def end(self) -> None:
        """End the engine, and start no other."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self, start: Start) -> None:
        try:
            await self._run(start)
        except EngineBrokenError as error:
            self._fail(str(error))
        except Exception:
            logger.exception("the engine is not kept any more. This is a bug.")
            self._fail("the engine is not kept any more")

    def _fail(self, reason: str) -> None:
        self.has_failed = True
        self.status = msgspec.structs.replace(self.status, state="failed")
        for front in self._fronts:
            front.tell(self.status)
            front.tell(EngineBroken(model=self._model, reason=reason))

    async def _run(self, start: Start) -> None:
        """Keep an engine running until cancelled. EngineBrokenError: it cannot start at all."""
        breaker = Breaker(BREAKER_DEATHS)
        backoff_s = MIN_BACKOFF_S
        while True:
            self._ready_s = math.inf
            try:
                await self._one_engine(start)
            except OSError:  # no process, no descriptors: that may pass
                logger.exception("no engine could be started")
            finally:
                self._kill()
            self._series.engine_restarts.inc()
            lived_s = max(0.0, time.monotonic() - self._ready_s)
            if breaker.died(time.monotonic(), lived_s) and self._settings.breaker_wait_s:
                await self._leave_alone()
                continue
            backoff_s = MIN_BACKOFF_S if lived_s else min(MAX_BACKOFF_S, 2 * backoff_s)
            logger.error("the engine ended; starting another in %.1f s", backoff_s)
            await asyncio.sleep(backoff_s)

    async def _leave_alone(self) -> None:
        """Fail what waits while the breaker is open, then let one engine be tried."""
        wait_s = self._settings.breaker_wait_s
        logger.error("the engine ended too often; not restarting it for %g s", wait_s)
        self._series.breaker_open.set(1)
        why = "the engine ended too often and is left alone for a while"
        self._tell(
            state="crash_loop",
            detail=f"the engine ended too often; one is tried every {wait_s:g} s",
            refusal=Refusal("engine_restarting", why, math.ceil(wait_s)),
        )
        for front in self._fronts:
            front.tell(GiveUp(model=self._model))
        await asyncio.sleep(wait_s)

    async def _one_engine(self, start: Start) -> None:
        began_s = time.monotonic()
        with self._lines.open() as theirs:
            lines = self.arena, theirs.fileno()
            if self.host is self:
                launched = self._launched.pop() if self._launched else launch(self.name)
                engine = await start_engine(launched, *lines)
            else:
                engine = await self.host.take_in(*lines)
        self.process = engine.process
        engine.channel.send(start)
        try:
            first = None  # it has ended, or takes too long
            try:
                async with asyncio.timeout(LOAD_S):
                    first = await engine.channel.receive()
            except TimeoutError:
                logger.error("the engine did not load within %g s; killing it", LOAD_S)
                self._series.engine_stuck.inc()
            if isinstance(first, Broken):
                if self.ready is None:  # a later one may find what it needs the next time
                    raise EngineBrokenError(first.reason)
                logger.error("the engine could not load: %s", first.reason)
            if isinstance(first, Ready):
                if self.ready is not None and first.model_digest != self.ready.model_digest:
                    # What the front has read of the model's files, and told of it, has to hold on.
                    reason = "the model's files are not those that this service was started with; start it anew"
                    raise EngineBrokenError(reason)
                self.ready = first
                self._start_s = time.monotonic() - began_s
                await self._serve(engine)
        finally:
            self._not_ready("the engine is restarting")
            engine.close()

    async def take_in(self, arena: int, fronts: int) -> EngineProcess:
        """An engine for a model that shares the weights of this one's, once they are loaded. See `join_engine`."""
        while self._engine is None:
            await asyncio.sleep(LOOK_S)
        return await join_engine(self._engine.process, self._lines.passing, arena, fronts)

    async def _serve(self, engine: EngineProcess) -> None:
        self._watchdog.silence_s, self._watchdog.step = 0.0, None
        self._engine = engine
        self._lines.attach()
        minders = [asyncio.create_task(self._watch(engine.channel)), asyncio.create_task(self._look_forever())]
        try:
            await engine.channel.each(self._on_message)
        finally:
            for minder in minders:
                minder.cancel()
            self.look()  # what it had reported when it ended
            self._engine = None
            self._lines.detach()

    def _on_message(self, message: EngineMessage) -> None:
        if isinstance(message, SignOfLife):
            self.look()
            self._watchdog.heard(message.said_s, message.after)

    async def _look_forever(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    async def _watch(self, channel: AsyncChannel[EngineMessage]) -> None:
        """End an engine that says nothing for longer than it may: a stopped process, a device that hangs."""
        last_s = time.monotonic()
        while True:
            channel.send(Ping())
            await asyncio.sleep(TICK_S)
            self._lines.connect_all()
            self.look()
            now_s = time.monotonic()
            if self._watchdog.tick(now_s - last_s):
                logger.error("the engine is stuck: silent for more than %.1f s; killing it", self._watchdog.limit_s)
                self._series.engine_stuck.inc()
                self._discard("the engine was stuck and is restarting")
                return
            last_s = now_s

    def _on_probe(self, front: HubFront, probe: ProbeResult) -> None:
        """Go on with the engine or not, as a health probe says. Late is not wrong: it waits like any request."""
        if probe.outcome == "right":
            front.links[self._model].is_ready = True
            if not self.is_ready:
                self._become_ready()
            return
        if probe.outcome == "late" and self.is_ready:
            logger.warning("the health probe was not answered in time: %s", probe.reason)
            return
        if probe.outcome == "wrong":
            self._series.wrong_answers.inc()
            logger.error("this engine is not used: %s", probe.reason)
        else:
            logger.error("the health probe was not answered; this engine is not used")
        self._discard("the engine failed its known-answer check and is restarting")

    def _discard(self, detail: str) -> None:
        """Not ready from this moment on, then end the process; the rest follows when its socket closes."""
        self._engine = None
        self._lines.detach()
        self._not_ready(detail)
        self._kill()

    def _not_ready(self, detail: str) -> None:
        if self.status.state in ("ready", "loading"):
            self._tell(state="restarting", detail=detail)
        self._series.engine_ready.set(0)

    def _become_ready(self) -> None:
        self._ready_s = time.monotonic()
        self.was_ready = True
        self._tell(state="ready", detail="", refusal=RESTARTING)
        self._series.engine_ready.set(1)
        self._series.breaker_open.set(0)
        assert self.ready is not None  # the engine said Ready before it was served
        what = f"{self.ready.num_parameters / 1e6:.1f} M parameters, {self.ready.dtype} on {self.ready.device}"
        took = f"loaded in {self.ready.load_s:.1f} s, started in {self._start_s:.1f} s"
        logger.info("ready: %s, %s, %s", self.name, what, took)

    def _tell(self, *, state: EngineState, **changes: Any) -> None:
        """Tell every front how the engine is."""
        self.status = msgspec.structs.replace(self.status, state=state, **changes)
        for front in self._fronts:
            front.tell(self.status)

    def _kill(self) -> None:
        """End the process, if there is one. A thread reaps it: with a device to let go, that can take seconds."""
        if self.process is not None:
            self.process.kill()
            threading.Thread(target=self.process.wait, daemon=True).start()
