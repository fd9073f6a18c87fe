"""The main process of several fronts: accepts connections that they serve, starts and watches them and the engine.

A front that ends takes its own connections along; another takes its place. A signal ends all: the fronts are told
first, the listener closes after the lame duck's time, the engine ends last.
"""

import asyncio
import logging
import math
import signal
import socket  # noqa: TID251  # of our own server
import sys
import time
from collections.abc import Coroutine, Sequence
from typing import Any

from service.front.admission.shared_table import SharedRows
from service.front.engine_client.front_link import Loaded, ProbeResult, SuspectReport
from service.front.hub.hub import Hub
from service.front.hub.launch import Launched
from service.front.serving.shared_towers import remove_abandoned
from service.http.server.listening import (
    ListenError,
    allow_descriptors,
    listen_error,
    log_address,
    metrics_served,
    peer_rule,
)
from service.processes.dispatcher import Dispatcher
from service.processes.front_process import FrontProcess
from service.processes.messages import Answered, AskSeries, AskUuid, ConnectionsChanged, Failed, FrontServing, ToMain
from service.settings.settings import Settings

logger = logging.getLogger("cenote.main")

TICK_S = 0.05
EXIT_S = 10.0
"""After the drain's time a front has this long to end; then it is killed."""


class MainProcess:
    """Runs fronts and their engine until a signal; `bound` are sockets of its address, not yet listening."""

    def __init__(
        self, settings: Settings, bound: Sequence[socket.socket], num_fronts: int, launched: Sequence[Launched]
    ) -> None:
        allow_descriptors(settings.max_connections)
        self._settings = settings
        self._bound = bound
        self._fronts: list[FrontProcess] = []
        self._hub = hub = Hub(settings, self._fronts, num_fronts, launched)
        rows, arenas = SharedRows(num_fronts), [keeper.arena for keeper in hub.keepers]
        for index in range(num_fronts):
            self._fronts.append(FrontProcess(index, settings, num_fronts, rows, arenas, self._take))
        self._answering: set[asyncio.Task[None]] = set()
        self._dispatcher = Dispatcher(bound, self._fronts, peer_rule(settings))
        self._has_terminal = sys.stderr.isatty()
        self._num_signals = 0
        self._close_at_s = math.inf
        self._has_failed = False

    async def run(self) -> int:
        """Serve until a signal; 0 after a drain, 1 where it could not start. ListenError: the address is not free."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_terminate, number)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as `nohup` has it
            loop.add_signal_handler(signal.SIGHUP, self._on_sighup)
        async with metrics_served(self._settings, self._hub.scrape) as where:
            if where is not None:
                logger.info("metrics on %s", where)
            running = [asyncio.create_task(front.run()) for front in self._fronts]
            try:
                await self._until_terminated()
            except ListenError:
                self._has_failed = True
                raise
            finally:
                for front in self._fronts:
                    front.end()
                    if self._has_failed:
                        front.signal(signal.SIGKILL)
                await self._drain(running)
                await self._hub.end()
                remove_abandoned()
        return 1 if self._has_failed else 0

    async def _until_terminated(self) -> None:
        """Listen when it is time, and watch the fronts, until a signal has closed the listener."""
        looked_s = time.monotonic()
        while (now_s := time.monotonic()) < self._close_at_s and not self._has_failed:
            for front in self._fronts:
                front.look(now_s - looked_s)
            looked_s = now_s
            self._has_failed |= self._hub.has_failed
            self._listen_if_time()
            await asyncio.sleep(TICK_S)
        self._dispatcher.close()
        for front in self._fronts:
            front.pass_descriptors(b"closed", ())

    def _listen_if_time(self) -> None:
        is_time = any(front.is_serving for front in self._fronts)
        if self._settings.listen == "when-ready":
            is_time &= all(keeper.was_ready for keeper in self._hub.keepers)
        if not is_time or self._dispatcher.is_listening:
            return
        address = self._bound[0].getsockname()
        try:
            self._dispatcher.listen()
        except OSError as error:
            raise listen_error(error, self._settings.host, address, f"--port {self._settings.port}") from None
        log_address(address, [keeper.name for keeper in self._hub.keepers])

    def _take(self, front: FrontProcess, message: ToMain) -> None:
        """Hear a front."""
        match message:
            case FrontServing():
                front.is_serving = True
                for keeper in self._hub.keepers:
                    front.tell(keeper.status)
                if self._num_signals:  # it was started before the signal, and has not heard of it
                    front.signal(signal.SIGTERM)
            case Loaded() | ProbeResult() | SuspectReport():
                self._hub.on_report(front, message)
            case ConnectionsChanged(by=changes):
                for peer, by in changes.items():
                    front.connections.change(peer, by)
            case AskSeries(number=number):
                self._answer(front, number, self._hub.scrape())
            case AskUuid(number=number, tenant=tenant, uuid=uuid):
                self._answer(front, number, self._hub.find_uuid(front, tenant, uuid))
            case Failed():  # a front that takes another's place is tried again
                self._has_failed |= not all(keeper.is_kept for keeper in self._hub.keepers)

    def _answer(self, front: FrontProcess, number: int, body: Coroutine[Any, Any, bytes]) -> None:
        """Answered a front's question when the others have said theirs."""

        async def answer() -> None:
            front.tell(Answered(number=number, body=await body))

        task = asyncio.create_task(answer())
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _on_terminate(self, number: signal.Signals) -> None:
        """Begin to drain; a second signal ends at once."""
        self._num_signals += 1
        is_ready = any(keeper.is_ready for keeper in self._hub.keepers)
        wait_s = self._settings.lame_duck_s if is_ready and number == signal.SIGTERM and self._num_signals == 1 else 0.0
        self._close_at_s = min(self._close_at_s, time.monotonic() + wait_s)
        for front in self._fronts:
            front.end()
            front.signal(signal.SIGTERM)

    def _on_sighup(self) -> None:
        """Have the keys read again; drain where a terminal has closed."""
        if self._has_terminal:
            self._on_terminate(signal.SIGHUP)
            return
        for front in self._fronts:
            front.signal(signal.SIGHUP)

    async def _drain(self, running: Sequence[asyncio.Task[None]]) -> None:
        """Wait for the fronts, which wait for their clients, and not indefinitely."""
        _, late = await asyncio.wait(running, timeout=self._settings.drain_timeout_s + EXIT_S)
        for front in self._fronts if late else ():
            logger.error("front %d did not stop in time; killing it", front.index)
            front.signal(signal.SIGKILL)
        await asyncio.gather(*running, return_exceptions=True)
