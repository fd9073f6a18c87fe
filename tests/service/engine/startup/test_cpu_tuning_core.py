"""`keep_core`: the main thread has a core of its own where two threads have two cores. In processes apart."""

import os
import subprocess
import sys

import pytest

from service.engine.startup.cpu_tuning import keep_core

BOUND = """
import os, sys, threading
from pathlib import Path
from service.engine.startup.cpu_tuning import keep_core

def work():
    import torch
    torch.set_num_threads(2)
    for width in (16, 1024, 64, 2048, 1, 512):  # pieces of one thread and of two, by torch and by its libraries
        torch.mm(torch.ones(width, 512), torch.ones(512, width)).softmax(-1).sum()

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
if "work" in sys.argv: work()
thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
core = keep_core(int(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:] if "=" in word))
if "work" in sys.argv: work()
num_cores = [len(os.sched_getaffinity(int(task.name))) for task in Path("/proc/self/task").iterdir()]
print(core in os.sched_getaffinity(0), len(os.sched_getaffinity(0)), num_cores.count(1), num_cores.count(2))
"""

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="takes Linux and two cores"
)


def bound(num_threads: int, *words: str) -> tuple[bool, int, int, int]:
    """Whether a core is kept, on how many the main thread may run, and how many threads may on one and on two."""
    command = [sys.executable, "-c", BOUND, str(num_threads), *words]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # numpy's library starts a thread for each core otherwise
    ran = subprocess.run(command, env=alone, capture_output=True, text=True, check=True, timeout=120)
    kept, *counts = ran.stdout.split()
    return kept == "True", int(counts[0]), int(counts[1]), int(counts[2])


def test_a_main_thread_keeps_a_core_and_the_others_stay_free() -> None:
    assert bound(2) == (True, 1, 1, 1)


def test_threads_of_openmp_stay_free_whatever_they_compute_behind_it() -> None:
    kept, _, num_bound, num_free = bound(2, "work")
    assert (kept, num_bound) == (True, 1)
    assert num_free >= 2  # that of OpenMP, and the one that was there before


def test_with_other_numbers_or_an_operator_who_binds_threads_nothing_is_bound() -> None:
    free = (False, 2, 0, 2)
    assert bound(1) == free
    assert bound(3) == free
    assert bound(2, "OMP_PROC_BIND=false") == free
    assert bound(2, "GOMP_CPU_AFFINITY=0") == free


def test_a_sandbox_that_forbids_it_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(pid: int, mask: set[int]) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    assert keep_core(2, {}) is None
