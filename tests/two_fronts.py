"""Shared by tests of servers with two fronts: when both are ready, what they hold, clients of which each has half."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.conftest import WAIT_S, LiveServer, children_of, command_of, until

MANY = 8
"""Connections that are open at once: each front has half of them."""
ENDED_S = 0.1
"""In which the main process has heard from a front that connections have ended."""
ESTABLISHED = "01"
"""A connection's state in `/proc/net/tcp`; proc(5)."""


def fronts_of(server: LiveServer) -> list[int]:
    """Their process ids."""
    return [pid for pid in children_of(server.process.pid) if "front_worker" in command_of(pid)]


def num_connections(server: LiveServer) -> list[int]:
    """Numbers of clients' connections of each front, in the order of `fronts_of`."""
    port = f":{urlsplit(server.url).port:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {f"socket:[{line[9]}]" for line in lines if line[1].endswith(port) and line[3] == ESTABLISHED}
    return [_num_open(pid, sockets) for pid in fronts_of(server)]


def _num_open(pid: int, sockets: set[str]) -> int:
    num = 0
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it has been closed since
            num += str(file.readlink()) in sockets
    return num


def wait_for_ends(server: LiveServer) -> None:
    """Return once the connections of the last test have ended; the server's own client keeps one."""
    until(lambda: sum(num_connections(server)) <= 1, "the end of the last test's connections")
    time.sleep(ENDED_S)


def is_ready(server: LiveServer) -> bool:
    """True if one front is ready, by a connection of its own."""
    with httpx.Client(base_url=server.url) as fresh:
        return fresh.get("/readyz").status_code == 200


def all_are_ready(server: LiveServer) -> bool:
    """True if all are ready, by so many connections that either front has some."""
    return all(is_ready(server) for _ in range(MANY))


def open_clients(server: LiveServer) -> Iterator[list[httpx.Client]]:
    """Clients with a connection each, kept open."""
    wait_for_ends(server)
    opened = [httpx.Client(base_url=server.url, timeout=WAIT_S) for _ in range(MANY)]
    for one in opened:
        assert one.get("/livez").status_code == 200
    yield opened
    for one in opened:
        one.close()
