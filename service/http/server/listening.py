"""Addresses to listen on, and uvicorn's configuration: our connection, our limits, metrics on a port of their own.

Addresses are bound before anything is loaded, so that one that cannot be had is reported at once and in one sentence.
The sockets do not listen yet: until they do, connections are refused.
"""

import asyncio
import contextlib
import errno
import logging
import os
import resource
import socket  # noqa: TID251  # of our own server
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any

import uvicorn
from litestar import Litestar
from litestar.datastructures import State

from service.http.errors import HANDLERS
from service.http.routes.health import get_metrics
from service.http.server.connection import Connection
from service.http.server.pacing import ChunkTurns, ConnectionLimits
from service.http.server.peers import PeerRule
from service.http.server.places import Places
from service.metrics import Scrape
from service.settings.settings import Settings

logger = logging.getLogger("cenote.server")

MAX_HEAD_BYTES = 32 << 10

DRAIN_TIMEOUT_S = 5.0
"""For the rest of a body that is not read, such as one refused for its size: its sender reads the answer after it."""

WRITE_TIMEOUT_S = 10.0
"""Longest time that a client may read nothing of its answer at first."""

NUM_OTHER_DESCRIPTORS = 512
"""Files, sockets and pipes beside the connections."""

REASONS = {
    errno.EADDRINUSE: "{flag}: {address} is in use by another program; stop that one, or give another port",
    errno.EADDRNOTAVAIL: "--host {host}: {address} is no address of this machine",
    errno.EACCES: "{flag}: this user may not listen on {address}; ports below 1024 need privileges",
}


class ListenError(Exception):
    """An address cannot be listened on; the message names the setting, the address and the reason."""


def bind(host: str, port: int, setting: str = "port") -> list[socket.socket]:
    """A socket for every address of a host, such as 127.0.0.1 and ::1 for `localhost`.

    Args:
        host: a name or an address; empty for every address of the machine.
        port: 0 takes a free one.
        setting: the name of the setting of the port.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ListenError(f"--host {host}: {error.strerror}") from None
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found if _is_supported(family)))
    if not addresses:
        raise ListenError(f"--host {host}: this machine does not speak IPv6")
    bound: list[socket.socket] = []
    for family, (name, number, *scope) in addresses:
        same_port = number or (bound[0].getsockname()[1] if bound else 0)
        try:
            bound.append(_bind(family, (name, same_port, *scope)))
        except OSError as error:
            raise listen_error(error, host, (name, same_port), f"--{setting} {port}") from None
    return bound


def listen_error(error: OSError, host: str, address: tuple[Any, ...], flag: str) -> ListenError:
    """The system's error for an address as a sentence; `flag` is the setting that the port came from.

    Args:
        error: of `bind`, or of `listen` where another program has begun to listen in between.
    """
    name, port, *_ = address
    reason = REASONS.get(error.errno or 0, f"{{flag}}: cannot listen on {{address}}: {os.strerror(error.errno or 0)}")
    where = f"[{name}]:{port}" if ":" in str(name) else f"{name}:{port}"
    return ListenError(reason.format(flag=flag, host=host, address=where))


def log_address(address: tuple[Any, ...], names: Iterable[str]) -> None:
    """Log the address that the server listens on, port 0 resolved by then, and the models, by the names of requests."""
    host, port, *_ = address
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    logger.info("listening on %s (docs at %s/docs, playground at %s/) with %s", where, where, where, ", ".join(names))


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # else a port rests for a minute after its last use
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
    except OSError:
        one.close()
        raise
    one.setblocking(False)
    return one


def _is_supported(family: int) -> bool:
    """True if the kernel has this kind of socket: a hosts file may name ::1 although IPv6 is off."""
    try:
        socket.socket(family, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def connection_limits(settings: Settings) -> ConnectionLimits:
    """The limits of one connection."""
    return ConnectionLimits(
        max_head_bytes=MAX_HEAD_BYTES,
        head_timeout_s=settings.receive_timeout_s,
        drain_timeout_s=DRAIN_TIMEOUT_S,
        write_timeout_s=WRITE_TIMEOUT_S,
        min_bytes_per_s=settings.min_bytes_per_s,
    )


def peer_rule(settings: Settings) -> PeerRule:
    """Who may have a connection: as many as the setting says, or as this process may have files for."""
    return PeerRule.of(settings, min(settings.max_connections, _num_affordable()))


def server_config(app: Any, settings: Settings, port: int) -> uvicorn.Config:
    """Uvicorn's configuration for an app on a port."""
    limits, places = connection_limits(settings), Places(peer_rule(settings))
    protocol: Any = partial(Connection, limits, ChunkTurns(), places, places.arrival)  # uvicorn only ever calls it
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
        timeout_graceful_shutdown=1,  # of the server of metrics; the main one sets its own
    )


def allow_descriptors(max_connections: int) -> None:
    """Raise the process's own limit of open files to what the connections need; say where the system forbids it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max_connections + NUM_OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if (num := _num_affordable()) < max_connections:
        logger.warning(
            "--max-connections %d: a process may open %d files here (ulimit -n), which is enough for %d connections",
            max_connections,
            hard,
            num,
        )


def _num_affordable() -> int:
    """Connections that there are descriptors for, beside all else; half of them where they are few."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(soft // 2, soft - NUM_OTHER_DESCRIPTORS)


class MetricsServer(uvicorn.Server):
    """A server that leaves signals to the main one."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle none."""
        yield


@contextlib.asynccontextmanager
async def metrics_served(settings: Settings, scrape: Scrape) -> AsyncIterator[str | None]:
    """`/metrics` alone, on `metrics_port`, for the length of the `with`: its address, or None where that is not set."""
    if settings.metrics_port is None:
        yield None
        return
    app = Litestar(
        [get_metrics],
        state=State({"scrape": scrape}),
        exception_handlers=HANDLERS,
        openapi_config=None,
        logging_config=None,
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
