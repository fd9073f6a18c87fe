"""The core of the engine's main thread: its own where threads take all cores, and nobody else's. In processes apart."""

import os
import subprocess
import sys

import pytest

from service.engine.own_core import keep_core

BOUND = """
import os, sys, threading
from service.engine.own_core import keep_core
threads = [threading.Thread(target=end.wait, daemon=True) for end in [threading.Event()]]
for thread in threads: thread.start()
core = keep_core(int(sys.argv[1]), dict(pair.split("=") for pair in sys.argv[2:]))
print(core, *(len(os.sched_getaffinity(tid)) for tid in (0, threads[0].native_id)))
"""

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="takes Linux and two cores"
)


def bound(num_threads: int, *environ: str) -> list[str]:
    """The core, and on how many the main thread and one that was there before may run."""
    command = [sys.executable, "-c", BOUND, str(num_threads), *environ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()


def test_a_main_thread_whose_threads_take_all_cores_keeps_one_and_the_others_stay_free() -> None:
    cores = os.sched_getaffinity(0)
    for num_threads in (len(cores), len(cores) + 1):
        assert bound(num_threads) == [str(max(cores)), "1", str(len(cores))]


def test_with_a_core_to_spare_or_an_operator_who_binds_threads_nothing_is_bound() -> None:
    free = ["None", str(num := len(os.sched_getaffinity(0))), str(num)]
    assert bound(num - 1) == free
    assert bound(num, "OMP_PROC_BIND=false") == free
    assert bound(num, "GOMP_CPU_AFFINITY=0") == free


def test_a_sandbox_that_forbids_it_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(pid: int, mask: set[int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    assert keep_core(len(os.sched_getaffinity(0)), {}) is None
