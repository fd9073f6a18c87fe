"""Two servers behind each proxy with the lines of its page, restarted in turn under load, and their engines killed:
no client sees an error.

Run by `make proxy-check`, with nginx and HAProxy from Debian.
"""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from service.settings.settings import Settings
from tests.conftest import CHECKPOINT, LiveServer, free_ports, until
from tests.deploy.proxies.proxy import Proxy
from tests.faults.server import faulty_environ, slowed
from tests.steady_load import SteadyLoad

PROGRAMS = ("nginx", "haproxy")
SLOW_LOAD_S = 8
"""Beside the second or two of a small model; less than the silence after which an engine counts as stuck."""
NUM_REQUESTS = 1_000
LIMIT_S = 240


def body_of(index: int) -> bytes:
    """A text; each tenth body is as large as one with an image, in spaces, which cost the model nothing."""
    return b" " * (100_000 if index % 10 == 0 else 0) + b'{"input": "text %d"}' % index


Restart = Callable[[], LiveServer]


@pytest.fixture
def restarts(start_server: Callable[..., LiveServer], tmp_path: Path) -> tuple[tuple[int, int], list[Restart]]:
    """Ports of two servers, and what starts each of them with the defaults for a drain; the second is slow to load."""
    one, two = free_ports(2)
    settings = ("--model", str(CHECKPOINT), "--lame-duck-s", str(Settings().lame_duck_s))

    def start(port: int) -> LiveServer:
        return start_server(*settings, "--port", str(port), env=faulty_environ(tmp_path / str(port)))

    def start_slowly() -> LiveServer:
        faults = tmp_path / str(two)
        faults.mkdir(exist_ok=True)
        with slowed(faults, SLOW_LOAD_S):  # the known question, without whose answer nobody is ready
            server = start(two)
            until((faults / "slowing").exists, "the slow load", LIMIT_S)
            assert server.status("/readyz") == 503, "it has to be slow"
        return server

    return (one, two), [lambda: start(one), start_slowly]


@pytest.fixture
def proxies() -> Iterator[ExitStack]:
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    assert not absent, f"{absent}: install Debian's nginx-light and haproxy"
    with ExitStack() as stack:
        yield stack


def test_no_client_sees_a_restart_or_the_end_of_an_engine(
    restarts: tuple[tuple[int, int], list[Restart]], proxies: ExitStack, tmp_path: Path
) -> None:
    ports, starts = restarts
    servers = [start() for start in starts]
    for server in servers:
        server.wait_until_ready()
    loads: dict[str, SteadyLoad] = {}
    for program, listen in zip(PROGRAMS, free_ports(2), strict=True):
        (tmp_path / program).mkdir()
        proxy = Proxy(program, tmp_path / program, listen, ports)
        proxies.callback(proxy.stop)
        loads[program] = SteadyLoad(proxy.url, num_clients=3, body_of=body_of).start()
        proxies.callback(loads[program].stop)
    time.sleep(2)
    for server, start in zip(servers, starts, strict=True):
        assert server.stop() == 0
        again = start().wait_until_ready()
        time.sleep(3)  # until HAProxy has seen it
        os.kill(again.engine_pid(), signal.SIGKILL)
        time.sleep(2)
        again.wait_until_ready()
        time.sleep(3)
    for load in loads.values():
        load.wait_for_answers(max(0, NUM_REQUESTS - load.num_right), LIMIT_S)
        load.stop()
    print({program: (len(load.answers), len(load.failures)) for program, load in loads.items()})
    assert {program: load.failures[:5] for program, load in loads.items()} == {program: [] for program in PROGRAMS}
