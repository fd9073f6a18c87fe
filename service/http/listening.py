"""uvicorn as this service runs it: our connection, our patience, and metrics on a port of their own if wished.

In: settings and an ASGI app. Out: uvicorn's configuration. Which signals end what is the command line's business.
"""

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import uvicorn
from litestar import Litestar
from litestar.types import ASGIApp

from service.http.binding import bind
from service.http.chunk_turns import ChunkTurns
from service.http.connection import Connection, ConnectionLimits
from service.http.errors import HANDLERS
from service.http.head import HeadAsGet
from service.http.health import get_metrics
from service.settings import Settings

DRAIN_TIMEOUT_S = 5.0
"""For the rest of a body that nobody reads, such as one refused for its size: its sender reads the answer after it."""

WRITE_TIMEOUT_S = 10.0
"""Between two looks at how much of its answer a client has taken."""

NUM_OTHER_DESCRIPTORS = 512
"""Files, sockets and pipes beside the connections."""


def server_config(app: Any, settings: Settings, port: int) -> uvicorn.Config:
    """What a server of ours is started with.

    Args:
        app: the ASGI app.
        settings: of the service.
        port: to listen on.
    """
    limits = ConnectionLimits(
        max_connections=settings.max_connections,
        max_head_bytes=settings.max_head_bytes,
        head_timeout_s=settings.head_timeout_s,
        drain_timeout_s=DRAIN_TIMEOUT_S,
        write_timeout_s=WRITE_TIMEOUT_S,
        min_bytes_per_s=settings.min_bytes_per_s,
    )
    protocol: Any = partial(Connection, limits, ChunkTurns())  # uvicorn only ever calls it
    return uvicorn.Config(
        app,
        host=settings.host,
        port=port,
        http=protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=settings.keep_alive_s,
        timeout_graceful_shutdown=1,  # of the metrics; the main server sets its own
    )


def allow_descriptors(max_connections: int) -> None:
    """Raise the process's own limit of open files to what the connections need, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max_connections + NUM_OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


class MetricsServer(uvicorn.Server):
    """A server that leaves signals to the main one."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Hear none."""
        yield


@contextlib.asynccontextmanager
async def metrics_served(settings: Settings) -> AsyncIterator[str | None]:
    """`/metrics` alone, on `metrics_port`, for the length of the `with`; nothing where that is not set.

    Yields:
        Its address, or None.

    Raises:
        ListenError: its address cannot be had.
    """
    if settings.metrics_port is None:
        yield None
        return
    app: ASGIApp = HeadAsGet(
        Litestar([get_metrics], exception_handlers=HANDLERS, openapi_config=None, logging_config=None)
    )
    config = server_config(app, settings, settings.metrics_port)
    config.lifespan = "off"
    listening = bind(settings.host, settings.metrics_port, "metrics-port")
    server = MetricsServer(config)
    serving = asyncio.create_task(server.serve(sockets=listening))
    try:
        host, port, *_ = listening[0].getsockname()
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}/metrics"
    finally:
        server.should_exit = True
        await serving
