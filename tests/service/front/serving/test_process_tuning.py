"""Tuning of the front's process: cores by the container's quota, memory of large bodies, numpy's threads."""

import subprocess
import sys
from pathlib import Path

import pytest

from service.front.serving import process_tuning


@pytest.mark.parametrize(
    ("cpu_max", "want"), [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1), ("?", 8)]
)
def test_the_cgroup_quota_bounds_the_affinity(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cpu_max: str, want: int
) -> None:
    path = tmp_path / "cpu.max"
    path.write_text(cpu_max + "\n")
    monkeypatch.setattr(process_tuning, "CGROUP_V2", path)
    monkeypatch.setattr(process_tuning.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert process_tuning.available_cores() == want


def test_the_older_cgroup_is_read_where_there_is_no_new_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpu.cfs_quota_us").write_text("300000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(process_tuning, "CGROUP_V2", tmp_path / "absent")
    monkeypatch.setattr(process_tuning, "CGROUP_V1", tmp_path)
    monkeypatch.setattr(process_tuning.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert process_tuning.available_cores() == 3


STARTED = """
from threadpoolctl import threadpool_info
from service.app import create_app
from service.front.hub.hosted_front import HostedFront
from service.settings.settings import Settings
create_app(Settings(), HostedFront(Settings()))
print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
"""


def test_products_take_no_threads_of_their_own() -> None:
    """In a process apart, since the number is the library's own."""
    ran = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "{1}"


KEPT = """
import sys, threading
from pathlib import Path
from service.front.serving.process_tuning import return_large_blocks
print(return_large_blocks({} if sys.argv[1] == "returned" else {"MALLOC_ARENA_MAX": "8"}))

def memory_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) >> 8

small = []
def bodies():
    for size in range(1, 31):  # each block that is freed raises the threshold of glibc's own choice
        large = [b"x" * (size << 20) for _ in range(4)]
        small.append(b"y" * 5000)
        del large

before = memory_mb()
threads = [threading.Thread(target=bodies) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(memory_mb() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the setting is glibc's")
def test_what_large_bodies_took_goes_back() -> None:
    def run(how: str) -> tuple[str, int]:
        ran = subprocess.run([sys.executable, "-c", KEPT, how], capture_output=True, text=True, check=True, timeout=120)
        did, kept_mb = ran.stdout.split()
        return did, int(kept_mb)

    did, kept_mb = run("returned")
    assert did == "True"
    assert kept_mb < 30
    did, _ = run("as the operator has it")
    assert did == "False"
