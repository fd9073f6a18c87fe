"""On two cores the front's event loop keeps off the core of the engine's main thread; all other threads stay free."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import CHECKPOINT, LiveServer, image, image_part
from tests.several_models import write_tables

HEAL_S = 120

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="takes Linux and two cores"
)


@pytest.fixture
def two_cores() -> Iterator[frozenset[int]]:
    """What is started meanwhile has two cores."""
    given = os.sched_getaffinity(0)
    two = frozenset(sorted(given)[:2])
    os.sched_setaffinity(0, two)
    yield two
    os.sched_setaffinity(0, given)


def affinity_of_threads(pid: int) -> dict[int, frozenset[int]]:
    """The cores of each thread of a process, the main thread's first."""
    threads = sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    return {thread: frozenset(os.sched_getaffinity(thread)) for thread in threads}


def check_cores(server: LiveServer, two: frozenset[int]) -> None:
    """Engine and event loop have a core each, and the engine computes on both."""
    engine, front = affinity_of_threads(server.engine_pid()), affinity_of_threads(server.process.pid)
    taken, loop = engine[server.engine_pid()], front.pop(server.process.pid)
    assert len(taken) == 1
    assert loop == two - taken
    assert frozenset().union(*engine.values()) == two
    assert front  # of decoders, at least
    assert set(front.values()) == {two}


def test_engine_and_event_loop_keep_a_core_each_also_when_the_engine_is_replaced(
    start_server: Callable[..., LiveServer], two_cores: frozenset[int]
) -> None:
    server = start_server("--model", str(CHECKPOINT), "--threads", "2").wait_until_ready()
    for seed in range(2):
        parts = [image_part(image(seed, 300, 300)), {"type": "text", "text": "a long text " * 2000}]
        server.ask("/v1/embeddings", {"inputs": [{"content": parts}], "truncate_prompt_tokens": 300})
        check_cores(server, two_cores)
        if seed == 0:
            killed = server.engine_pid()
            os.kill(killed, signal.SIGKILL)
            deadline_s = time.monotonic() + HEAL_S
            while server.engine_pid() in (0, killed) or server.status("/readyz") != 200:
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
    assert server.stop() == 0


def test_beside_several_engines_the_event_loop_stays_free(
    start_server: Callable[..., LiveServer], two_cores: frozenset[int], tmp_path: Path
) -> None:
    server = start_server(*write_tables(tmp_path), "--threads", "2").wait_until_ready()
    assert set(affinity_of_threads(server.process.pid).values()) == {two_cores}
    assert server.stop() == 0
