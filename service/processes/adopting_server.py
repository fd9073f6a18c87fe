"""The HTTP server of one of several fronts: it has no address; connections come from the main process, one by one."""

import asyncio
import socket  # noqa: TID251  # of our own server
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from service.front.serving.serving import Serving
from service.http.server.connection import Connection
from service.http.server.pacing import ChunkTurns, ConnectionLimits
from service.http.server.peers import Arrival, ArrivalVerdict
from service.http.server.places import Places
from service.http.server.server import DrainingServer


class AdoptingServer(DrainingServer):
    """Serves connections that it is handed. It closes to new ones when it is told that no more will come.

    Args:
        config: uvicorn's.
        serving: of the app.
        limits: of one connection.
        places: of this front; the main process counts those of all.
        changed: is told the peer of a connection that has closed before it was served, and -1.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        serving: Serving,
        limits: ConnectionLimits,
        places: Places,
        changed: Callable[[str, int], None],
    ) -> None:
        super().__init__(config, serving)
        self._limits = limits
        self._places = places
        self._changed = changed
        self._turns = ChunkTurns()
        self._adopting: set[asyncio.Task[Any]] = set()

    def adopt(self, sock: socket.socket, arrival: Arrival) -> None:
        """Serve a connection."""
        task = asyncio.create_task(self._adopt(sock, arrival))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopt(self, sock: socket.socket, arrival: Arrival) -> None:
        protocol = partial(
            Connection,
            self._limits,
            self._turns,
            self._places,
            lambda _: arrival,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        try:
            await asyncio.get_running_loop().connect_accepted_socket(protocol, sock)
        except OSError:  # it has closed meanwhile
            sock.close()
            if arrival.verdict is ArrivalVerdict.FREE:
                self._changed(arrival.peer, -1)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to load."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)  # uvicorn has logged why
        self.servers = []
        self.started = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Be not ready from now on; the main process says when no more connections come."""
        if self._serving.is_draining:
            self.force_exit = self.should_exit = True
        self._serving.is_draining = True

    def no_more_come(self) -> None:
        """All connections have been handed over that will be."""
        self.should_exit = True
