"""`keep_cores`: each of two threads that compute on two cores has one of its own. In processes apart."""

import os
import subprocess
import sys

import pytest

from service.engine.startup.cpu_tuning import keep_cores

BOUND = """
import os, sys, threading
from pathlib import Path
from service.engine.startup import cpu_tuning
from service.engine.startup.cpu_tuning import keep_cores

def work():
    import torch
    for num_threads in (2, 1, 2):
        torch.set_num_threads(num_threads)
        for width in (16, 1024, 64, 2048, 1, 512):  # pieces of one thread and of two, by torch and by its libraries
            torch.mm(torch.ones(width, 512), torch.ones(512, width)).softmax(-1).sum()

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
if "work" in sys.argv: work()
if "without" in sys.argv: cpu_tuning.libgomp = lambda: None
thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
kept = keep_cores(int(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:] if "=" in word))
if "work" in sys.argv: work()
cores = [os.sched_getaffinity(int(task.name)) for task in Path("/proc/self/task").iterdir()]
is_main_on_first = os.sched_getaffinity(0) == set(kept[:1])
bound = sorted(core for one in cores if len(one) == 1 for core in one)
print(len(kept), is_main_on_first, bound == sorted(kept), sum(len(one) == 2 for one in cores))
"""

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="takes Linux and two cores"
)


def bound(num_threads: int, *words: str) -> tuple[int, bool, bool, int]:
    """Kept cores, True if the main thread has the first, True for one thread each, and free cores."""
    command = [sys.executable, "-c", BOUND, str(num_threads), *words]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # numpy's library starts a thread for each core otherwise
    ran = subprocess.run(command, env=alone, capture_output=True, text=True, check=True, timeout=120)
    num_kept, is_main_on_first, has_each_one, num_free = ran.stdout.split()
    return int(num_kept), is_main_on_first == "True", has_each_one == "True", int(num_free)


def test_without_torchs_libgomp_the_main_thread_alone_keeps_a_core() -> None:
    assert bound(2, "without") == (1, True, True, 1)


def test_the_thread_that_computes_beside_keeps_the_other_core_whatever_runs_behind_it() -> None:
    num_kept, is_main_on_first, has_each_one, num_free = bound(2, "work")
    assert (num_kept, is_main_on_first, has_each_one) == (2, True, True)
    assert num_free >= 1  # that which was there before


def test_with_other_numbers_or_an_operator_who_binds_threads_nothing_is_bound() -> None:
    free = (0, False, True, 2)
    assert bound(1) == free
    assert bound(3) == free
    assert bound(2, "OMP_PROC_BIND=false") == free
    assert bound(2, "GOMP_CPU_AFFINITY=0") == free


def test_a_sandbox_that_forbids_it_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(pid: int, mask: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    assert keep_cores(2, {}) == []
