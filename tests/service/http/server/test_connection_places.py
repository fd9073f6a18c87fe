"""More connections than there are places for: who makes way, who is refused, and that other addresses do not notice."""

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from service.http.server.places import NUM_SPARE
from tests.conftest import CHECKPOINT, LiveServer
from tests.raw_socket import connect, post, receive, say

MAX_CONNECTIONS = 8
SHARE = 4
MANY = 20
OTHER = "127.0.0.2" if sys.platform == "linux" else ""
"""Another machine, as the server sees it; macOS has one loopback address."""

PROBE = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n"
EMBED = post("/v1/embeddings", b'{"input": "x"}')
HALF_A_BODY = EMBED[:-5]

pytestmark = pytest.mark.skipif(not OTHER, reason="one loopback address")


@pytest.fixture(
    scope="module", params=[pytest.param("1", id="one front"), pytest.param("2", id="two", marks=pytest.mark.slow)]
)
def small(start_server: Callable[..., LiveServer], request: pytest.FixtureRequest) -> LiveServer:
    flags = ("--fronts", request.param, "--max-connections", str(MAX_CONNECTIONS), "--keep-alive-s", "60")
    server = start_server("--model", str(CHECKPOINT), *flags, "--receive-timeout-s", "60").wait_until_ready()
    server.http.close()  # its connection has a place
    time.sleep(0.5)
    return server


@pytest.fixture
def opened(small: LiveServer) -> Iterator[Callable[..., list[socket.socket]]]:
    """Opens connections that each say something, and closes them when the test is over."""
    with ExitStack() as stack:

        def open_many(num: int, sent: bytes, source: str = "127.0.0.1") -> list[socket.socket]:
            clients = []
            for _ in range(num):
                clients.append(stack.enter_context(connect(small, source)))
                clients[-1].sendall(sent)
                if sent == PROBE:
                    receive(clients[-1])
                time.sleep(0.02)  # several fronts hear of each other's ends by the main process
            return clients

        yield open_many
    time.sleep(0.3)  # the server hears of the ends


def num_open(clients: list[socket.socket]) -> list[bool]:
    """For each, True if the server has not ended it."""
    found = []
    for client in clients:
        client.settimeout(0.05)
        try:
            found.append(bool(client.recv(1000)))
        except TimeoutError:
            found.append(True)
        except OSError:
            found.append(False)
    return found


@pytest.mark.parametrize("sent", [PROBE, b"", b"G"], ids=["idle", "silent", "head"])
def test_connections_that_wait_make_way_the_longest_first(
    small: LiveServer, opened: Callable[..., list[socket.socket]], sent: bytes
) -> None:
    clients = opened(MANY, sent)
    assert say(small, EMBED, source=OTHER).status == 200
    assert say(small, EMBED).status == 200  # in the place of one that waits
    kept = num_open(clients)
    assert sum(kept) == SHARE - 1
    assert kept[-1]
    assert not any(kept[: MANY - 2 * SHARE])  # the longest of one front is not always that of all


def test_a_peer_has_its_share_and_others_have_the_rest(
    small: LiveServer, opened: Callable[..., list[socket.socket]]
) -> None:
    opened(SHARE, HALF_A_BODY)
    refused = say(small, EMBED)
    assert refused.status == 503
    assert b"\r\nretry-after: " in refused.raw
    assert b'"too_many_connections"' in refused.raw
    for _ in range(3):
        assert say(small, EMBED, source=OTHER).status == 200


def test_a_place_above_the_limit_is_for_one_probe(
    small: LiveServer, opened: Callable[..., list[socket.socket]]
) -> None:
    opened(SHARE, HALF_A_BODY)
    for client in opened(2 * NUM_SPARE + MANY, b"G"):
        client.settimeout(5)
    with connect(small) as client:
        client.sendall(PROBE)
        heard = receive(client)
        assert heard.status == 200
        assert b"\r\nconnection: close" in heard.raw
        assert client.recv(1) == b""


def test_where_all_are_taken_the_peer_with_the_most_makes_way(
    small: LiveServer, opened: Callable[..., list[socket.socket]]
) -> None:
    many, few = opened(SHARE, PROBE), opened(2, PROBE, OTHER) + opened(2, PROBE, "127.0.0.3")
    assert say(small, EMBED, source="127.0.0.4").status == 200
    assert num_open(many) == [False, True, True, True]
    assert num_open(few) == [True] * 4
