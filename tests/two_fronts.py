"""What tests of servers with two fronts share: when both are ready, and clients of which each has half."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from tests.conftest import LiveServer

WAIT_S = 60
MANY = 8
"""Connections that are open at once: each front has half of them."""
ENDED_S = 0.3
"""In which the server has heard that the connections of the last test have ended."""


def until(happened: Callable[[], Any], what: str) -> None:
    """Return once it has happened; fail when it never does."""
    deadline_s = time.monotonic() + WAIT_S
    while not happened():
        assert time.monotonic() < deadline_s, f"never came: {what}"
        time.sleep(0.05)


def is_ready(server: LiveServer) -> bool:
    """What one front says, by a connection of its own."""
    with httpx.Client(base_url=server.url) as fresh:
        return fresh.get("/readyz").status_code == 200


def all_are_ready(server: LiveServer) -> bool:
    """What so many connections hear that either front has some."""
    return all(is_ready(server) for _ in range(MANY))


def open_clients(server: LiveServer) -> Iterator[list[httpx.Client]]:
    """Clients with a connection each, kept open."""
    time.sleep(ENDED_S)
    opened = [httpx.Client(base_url=server.url, timeout=WAIT_S) for _ in range(MANY)]
    for one in opened:
        assert one.get("/livez").status_code == 200
    yield opened
    for one in opened:
        one.close()
