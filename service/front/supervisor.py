"""Keeps one engine process alive: starts it, waits until it is ready, tells the client when it has gone, and again."""

import asyncio
import logging
import os
import socket  # noqa: TID251  # a socket pair
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from service import metrics
from service.errors import ModelError
from service.front.client import EngineClient
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import Broken, EngineMessage, Ready, Start

logger = logging.getLogger("cenote.supervisor")

EngineState = Literal["loading", "ready", "restarting", "failed"]

MIN_BACKOFF_S = 0.2
MAX_BACKOFF_S = 30.0
HEALTHY_AFTER_S = 60.0
"""An engine that lived this long was healthy: the next restart does not wait."""


class EngineBrokenError(Exception):
    """The engine says that it can never start: a bad checkpoint, a device that is not there."""


@dataclass(slots=True)
class Supervisor:
    """One engine, restarted with backoff.

    Attributes:
        start: what every new engine is told first.
        arena: its file descriptor is inherited.
        client: attached when an engine is ready, detached when it has gone.
        known_answer: asks the service's own question through the whole path; raises when the answer is not the first
            engine's.
        state: what `/readyz` tells.
        detail: one sentence on the state, or None.
        ready: the last engine's own facts.
    """

    start: Start
    arena: PixelArena
    client: EngineClient
    known_answer: Callable[[], Awaitable[None]]
    state: EngineState = "loading"
    detail: str | None = "the model is loading"
    ready: Ready | None = None
    _ready_s: float | None = None
    process: subprocess.Popen[bytes] | None = None

    async def run(self) -> None:
        """Keep an engine running until cancelled.

        Raises:
            EngineBrokenError: it cannot start at all.
        """
        backoff_s = MIN_BACKOFF_S
        while True:
            self._ready_s = None
            try:
                await self._one_engine()
            finally:
                self._kill()
            metrics.ENGINE_RESTARTS.inc()
            was_healthy = self._ready_s is not None and time.monotonic() - self._ready_s > HEALTHY_AFTER_S
            backoff_s = MIN_BACKOFF_S if was_healthy else min(MAX_BACKOFF_S, 2 * backoff_s)
            logger.error("the engine ended; starting another in %.1f s", backoff_s)
            await asyncio.sleep(backoff_s)

    async def _one_engine(self) -> None:
        channel = await self._spawn()
        try:
            first = await channel.receive()
            if isinstance(first, Broken):
                self._note_broken(first)
            if isinstance(first, Ready):
                self.ready = first
                await self._serve(channel)
        finally:
            if self.state != "failed":
                self.state, self.detail = "restarting", "the engine is restarting"
            metrics.ENGINE_READY.set(0)
            self.client.detach()
            channel.close()

    def _note_broken(self, broken: Broken) -> None:
        """A first engine that cannot load never will; a later one may find what it needs the next time."""
        if self.ready is None:
            self.state = "failed"
            raise EngineBrokenError(broken.reason)
        logger.error("the engine could not load: %s", broken.reason)

    async def _serve(self, channel: AsyncChannel[EngineMessage]) -> None:
        self.client.attach(channel)
        check = asyncio.create_task(self._become_ready())
        try:
            while (message := await channel.receive()) is not None:
                self.client.receive(message)
        finally:
            check.cancel()

    async def _become_ready(self) -> None:
        try:
            await self.known_answer()
        except ModelError as error:
            logger.error("this engine is not used: %s", error)
            self._kill()
            return
        except Exception:
            logger.exception("the known question was not answered; this engine is not used")
            self._kill()
            return
        self.client.open()
        self._ready_s = time.monotonic()
        self.state, self.detail = "ready", None
        metrics.ENGINE_READY.set(1)
        assert self.ready is not None  # the engine said Ready before it was served
        logger.info(
            "ready: %.1f M parameters, %s on %s, loaded in %.1f s",
            self.ready.num_parameters / 1e6,
            self.ready.dtype,
            self.ready.device,
            self.ready.load_s,
        )

    async def _spawn(self) -> AsyncChannel[EngineMessage]:
        ours, theirs = socket.socketpair()
        with theirs:
            descriptors = (theirs.fileno(), self.arena.descriptor)
            self.process = subprocess.Popen(
                # -P: the folder that the front was started in must not come before the installed packages.
                [sys.executable, "-P", "-m", "service.engine.worker", *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is the front's to handle
                env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
            )
        channel: AsyncChannel[EngineMessage] = await AsyncChannel.over(ours, EngineMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
        channel.send(self.start)
        return channel

    def _kill(self) -> None:
        """End the process, if there is one. A thread reaps it: with a device to let go, that can take seconds."""
        if self.process is not None:
            self.process.kill()
            threading.Thread(target=self.process.wait, daemon=True).start()
