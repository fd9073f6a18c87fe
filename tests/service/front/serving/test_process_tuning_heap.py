"""`return_large_blocks`: memory of large bodies goes back unless the operator has set malloc. In processes apart."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

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
