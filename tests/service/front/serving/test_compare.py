"""Comparisons of vectors: slice by slice in threads of their own, and until the caller's deadline at most."""

import asyncio
import threading
import time

import pytest

from service.errors import DeadlineError
from service.fairness.threads import Steps
from service.front.admission.admission import Admission
from service.front.admission.answer_room import AnswerRoom
from service.front.admission.forward_rate import ForwardRate
from service.front.admission.load import QueueLimits
from service.front.admission.queues import Queues
from service.front.admission.shared_table import SharedTable
from service.front.inputs.parts import PartSize
from service.front.serving.embedder import SMALL_CHARS, Embedder
from service.front.tenant import SERVICE, Caller
from service.front.turns import Turns
from service.ipc.bell import Bell
from tests.service.front.inputs.test_reader import input_reader
from tests.service.front.serving.test_part_runs import Engine

NUM_STEPS = 2000


async def _compared(patience_s: float, num_callers: int, threads: list[str]) -> list[object]:
    """What became of each caller's comparison; the threads of its steps."""
    queues = Queues(Admission(QueueLimits(1000, 100_000, 1 << 20), SharedTable.of_one_front()), None)
    embedder = Embedder(
        input_reader(),
        Engine(),
        queues,
        AnswerRoom(1 << 30, 1.0, SharedTable.of_one_front()),
        Turns(),
        Bell(),
        num_threads=2,
        timeout_s=60,
        part_size=PartSize(20, 30_000),
        forwards=ForwardRate(8192),
    )

    def steps() -> Steps[float]:
        for _ in range(NUM_STEPS):
            threads.append(threading.current_thread().name)
            time.sleep(0.001)
            yield
        return 1.0

    caller = Caller(SERVICE.tenant, time.monotonic() + patience_s, patience_s)
    works = [embedder.compare(steps(), SMALL_CHARS + 1, caller) for _ in range(num_callers)]
    return list(await asyncio.gather(*works, return_exceptions=True))


def test_a_comparison_ends_at_its_deadline() -> None:
    threads = list[str]()
    (error,) = asyncio.run(_compared(0.05, 1, threads))
    assert isinstance(error, DeadlineError)
    assert len(threads) < NUM_STEPS


@pytest.mark.parametrize("num_callers", [1, 3])
def test_comparisons_leave_half_of_the_cores_to_the_engine(num_callers: int) -> None:
    threads = list[str]()
    asyncio.run(_compared(0.2, num_callers, threads))
    assert len(set(threads)) == 1
    assert threads[0].startswith("compare")
