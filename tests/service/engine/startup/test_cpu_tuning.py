"""Where an engine's process begins, and its cores, heap and huge pages, each tried in a process apart."""

import os
import platform
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

FAULTS = """
import resource, sys, torch
from service.engine.startup.cpu_tuning import keep_heap
print(keep_heap({} if sys.argv[1] == "kept" else {"MALLOC_TRIM_THRESHOLD_": "1"}))
def forward():
    for _ in range(4):
        torch.ones(3 << 20).add_(1)  # 12 MiB
for _ in range(3):
    forward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    forward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

MOVE = """
import mmap, re
from pathlib import Path
from service.engine.startup.cpu_tuning import use_huge_pages
def kilobytes(name):
    return int(re.search(rf"^{name}: +(\\d+) kB", Path("/proc/self/smaps_rollup").read_text(), re.M)[1])
full, empty = (mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE) for _ in range(2))
full.write(b"1" * (32 << 20))
before = kilobytes("Rss")
moved = use_huge_pages()
print(moved >> 20, kilobytes("AnonHugePages") >> 10, kilobytes("Rss") - before >> 10, full[:] == b"1" * (32 << 20))
"""

pytestmark = pytest.mark.slow
"""Each takes processes that import torch."""
two_cores = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2, reason="takes Linux and two cores"
)


def said_by(code: str, *words: str, env: dict[str, str] | None = None) -> list[str]:
    """The words that a process prints."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=120).stdout.split()


def bound(num_threads: int, *words: str) -> tuple[int, bool, bool, int]:
    """Kept cores, True if the main thread has the first, True for one thread each, and free cores."""
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # numpy's library starts a thread for each core otherwise
    num_kept, is_main_on_first, has_each_one, num_free = said_by(BOUND, str(num_threads), *words, env=alone)
    return int(num_kept), is_main_on_first == "True", has_each_one == "True", int(num_free)


@two_cores
def test_without_torchs_libgomp_the_main_thread_alone_keeps_a_core() -> None:
    assert bound(2, "without") == (1, True, True, 1)


@two_cores
def test_the_thread_that_computes_beside_keeps_the_other_core_whatever_runs_behind_it() -> None:
    num_kept, is_main_on_first, has_each_one, num_free = bound(2, "work")
    assert (num_kept, is_main_on_first, has_each_one) == (2, True, True)
    assert num_free >= 1  # that which was there before


@two_cores
def test_with_other_numbers_or_an_operator_who_binds_threads_nothing_is_bound() -> None:
    free = (0, False, True, 2)
    assert bound(1) == free
    assert bound(3) == free
    assert bound(2, "OMP_PROC_BIND=false") == free
    assert bound(2, "GOMP_CPU_AFFINITY=0") == free


@two_cores
def test_a_sandbox_that_forbids_it_costs_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(pid: int, mask: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(os, "sched_setaffinity", forbidden)
    assert keep_cores(2, {}) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the setting is glibc's")
@pytest.mark.parametrize(("how", "is_kept"), [("kept", "True"), ("as glibc has it", "False")])
def test_a_forward_asks_for_no_page_again_unless_the_operator_has_set_malloc(how: str, is_kept: str) -> None:
    set_by_operator = {"MALLOC_TRIM_THRESHOLD_": "131072", "PYTHONPATH": ":".join(sys.path)}
    did, num_faults = said_by(FAULTS, how, env=None if how == "kept" else set_by_operator)
    assert did == is_kept
    assert int(num_faults) < 100 if how == "kept" else int(num_faults) > 10_000


def can_collapse() -> bool:
    """Linux from 6.1 on."""
    return sys.platform == "linux" and tuple(map(int, platform.release().split(".")[:2])) >= (6, 1)


@pytest.mark.skipif(not can_collapse(), reason="the kernel moves nothing on demand")
def test_what_is_in_use_moves_and_memory_does_not_grow() -> None:
    moved, huge, grown, is_same = said_by(MOVE)
    assert int(moved) >= 28  # without the ends of 32 MiB
    assert int(huge) >= 28
    assert int(grown) <= 8
    assert is_same == "True"


BEGIN = """
import gc, signal, socket, sys
import service.engine.worker as worker
print("torch" in sys.modules)
import service.engine.engine as engine
engine.run = lambda *descriptors: print(
    len(descriptors), gc.isenabled(), gc.get_freeze_count() > 50_000, signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
socket.send_fds(ours, [b"lines"], [0, 1, 2, 0])
sys.argv = ["worker", "name", str(theirs.detach())]
worker.main()
"""


def test_torch_is_imported_when_signals_are_ignored_and_out_of_all_collections() -> None:
    assert said_by(BEGIN) == ["False", "4", "True", "True", "True"]
