"""Shared by the tests of every client: the live server, a relay before it, and no way out of this machine.

Run by `tests/clients/run.py`, once in each client's environment, with the server's address in `CENOTE_TEST_URL`, and
that of a server of text models in `CENOTE_TEST_TEXTS_URL`.
"""

import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.plain import Plain
from tests.clients.relay import Relay

LOOPBACK = ("127.0.0.1", "localhost", "::1")


asked_outside: list[str] = []
look_up = socket.getaddrinfo


def look_up_here(host: Any, *args: Any, **kwargs: Any) -> Any:
    """Addresses of this machine alone."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, *LOOPBACK):
        return look_up(host, *args, **kwargs)
    asked_outside.append(name)
    raise socket.gaierror(f"these tests reach no outside host, and something asked for {name}")


def pytest_configure() -> None:
    """Before any client is imported: some fetch a list at that moment."""
    socket.getaddrinfo = look_up_here


@pytest.fixture(scope="session", autouse=True)
def _no_outside_host() -> Iterator[None]:
    """A client that reports home, or fetches a list or a tokenizer, fails these tests."""
    yield
    assert asked_outside == []


@pytest.fixture(scope="session")
def plain() -> Plain:
    """The server, asked without a client."""
    return Plain(os.environ["CENOTE_TEST_URL"])


@pytest.fixture(scope="session")
def texts() -> Plain:
    """The server of text models: `MINILM` and `LATE`."""
    return Plain(os.environ["CENOTE_TEST_TEXTS_URL"])


@pytest.fixture
def relay(plain: Plain) -> Iterator[Relay]:
    """Point a client at this one's address to see what it sends, or to keep it waiting."""
    with Relay(plain.url) as relay:
        thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield relay
        relay.shutdown()
        thread.join()
