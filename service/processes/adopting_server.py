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
from service.http.server.server import DrainingServer


class CountedConnection(Connection):
    """A connection whose end is told, once.

    Args:
        ended: is told.
    """

    def __init__(self, ended: Callable[[], None], *of_connection: Any, **named: Any) -> None:
        super().__init__(*of_connection, **named)
        self._ended = ended

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell of the end."""
        self._ended()
        super().connection_lost(exc)


class AdoptingServer(DrainingServer):
    """Serves connections that it is handed. It closes to new ones when it is told that no more will come.

    Args:
        config: uvicorn's.
        serving: of the app.
        limits: of one connection; `max_connections` is the main process's to count.
        ended: is told of each connection's end.
    """

    def __init__(
        self, config: uvicorn.Config, serving: Serving, limits: ConnectionLimits, ended: Callable[[], None]
    ) -> None:
        super().__init__(config, serving)
        self._limits = limits
        self._ended = ended
        self._turns = ChunkTurns()
        self._adopting: set[asyncio.Task[Any]] = set()

    def adopt(self, sock: socket.socket, num_over: int) -> None:
        """Serve a connection; `num_over` by how many the limit of connections is exceeded with it."""
        task = asyncio.create_task(self._adopt(sock, num_over))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopt(self, sock: socket.socket, num_over: int) -> None:
        limits = self._limits.with_room(len(self.server_state.connections) + 1 - num_over) if num_over else self._limits
        protocol = partial(
            CountedConnection,
            self._ended,
            limits,
            self._turns,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        try:
            await asyncio.get_running_loop().connect_accepted_socket(protocol, sock)
        except OSError:  # it has gone meanwhile
            sock.close()
            self._ended()

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
