"""The HTTP server with an end of our own: not ready first, then a lame duck, then no new connections, then the rest.

Both ASGI servers close their listener the moment a signal arrives. Whoever routes requests here learns later that this
replica is going, so its requests would be refused. Here the signal only turns `/readyz`; the listener stays open for
`lame_duck_s`, and what was accepted has `drain_timeout_s` more. A second signal, whichever, stops at once. SIGHUP ends
nothing: it reads the keys again, as daemons do, unless it says that the terminal of whoever started this has closed.

Source: docs/notes/security.md; Kubernetes, "Pod termination"; Envoy, "Draining".
"""

import asyncio
import contextlib
import logging
import math
import signal
import socket  # noqa: TID251  # of our own server
import sys
import time
from collections.abc import Iterator
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from service.front.serving.serving import Serving
from service.http.server.listening import listen_error

logger = logging.getLogger("cenote.server")

LAST_ANSWERS_S = 1.0
"""After the drain's time is over, waiting requests get a refusal; this long they have to hear it."""
TICK_S = 0.05


class DrainingServer(uvicorn.Server):
    """Serves until a signal, then drains and ends with exit code 0.

    SIGINT comes from a person at a terminal, to whom nobody routes: it skips the lame duck, as does the terminal's end.
    With `--listen when-ready` nobody can connect before the model answers: a proxy sees a server that is down.
    """

    def __init__(self, config: uvicorn.Config, serving: Serving) -> None:
        settings = serving.settings
        # uvicorn's own limit cancels handlers and logs a trace for each; ours comes before, and tells them.
        config.timeout_graceful_shutdown = math.ceil(settings.drain_timeout_s + 5 * LAST_ANSWERS_S)
        super().__init__(config)
        self._serving = serving
        self._lame_duck_s = settings.lame_duck_s
        self._drain_timeout_s = settings.drain_timeout_s
        self._waits_for_the_model = settings.listen == "when-ready"
        self._close_at_s = math.inf
        self._has_terminal = sys.stderr.isatty()  # asked now: a terminal that has closed is none any more

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Hear signals while serving; afterwards they do again what they did before."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as `nohup` has it
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self.handle_hang_up)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to drain; on a second signal stop without waiting for anybody."""
        if self._serving.is_draining:
            self.force_exit = self.should_exit = True
            return
        was_ready = self._serving.health().status == "ok"
        self._serving.is_draining = True
        wait_s = self._lame_duck_s if was_ready and sig == signal.SIGTERM else 0.0
        self._close_at_s = time.monotonic() + wait_s
        self.should_exit = wait_s == 0

    def handle_hang_up(self, sig: int, frame: FrameType | None) -> None:
        """Have the keys read again; drain where a terminal has closed."""
        if self._has_terminal:
            self.handle_exit(sig, frame)
        elif self._serving.keyring is not None:
            self._serving.keyring.read_again()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to load, and to listen, now or once the model answers."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)  # uvicorn has logged why
        while self._waits_for_the_model and not self.should_exit and self._serving.health().status != "ok":
            await asyncio.sleep(TICK_S)
        if self.should_exit:
            await self.lifespan.shutdown()
            return
        config, loop = self.config, asyncio.get_running_loop()
        protocol: Any = config.http_protocol_class
        connect = partial(protocol, config=config, server_state=self.server_state, app_state=self.lifespan.state)
        self.servers = []
        for one in sockets or []:
            try:
                self.servers.append(await loop.create_server(connect, sock=one, backlog=config.backlog))
            except OSError as error:
                await self.lifespan.shutdown()
                raise listen_error(error, config.host, one.getsockname(), f"--port {config.port}") from None
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Go on until there is a reason to end: the lame duck is over, or whatever uvicorn knows."""
        return await super().on_tick(counter) or time.monotonic() >= self._close_at_s

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listener and idle connections, let accepted requests finish, and not indefinitely."""
        if self._serving.is_draining:
            logger.info("draining: %d connections are open", len(self.server_state.connections))
        ending = asyncio.create_task(self._end_in_time())
        await super().shutdown(sockets)
        if self.force_exit:
            await ending
            await self.lifespan.shutdown()  # uvicorn leaves it out then; without an engine it waits for nothing
        ending.cancel()

    async def _end_in_time(self) -> None:
        end_s = time.monotonic() + self._drain_timeout_s
        while time.monotonic() < end_s and not self.force_exit:
            await asyncio.sleep(TICK_S)
        if not self.force_exit:
            logger.warning("drain timeout of %g s reached; failing the remaining requests", self._drain_timeout_s)
            self._serving.give_up()
            await asyncio.sleep(LAST_ANSWERS_S)
        for connection in list(self.server_state.connections):  # half a body, or a client that does not read
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.abort()
        self._serving.give_up()
        await asyncio.sleep(TICK_S)  # in which handlers end by themselves, and none has to be cancelled
