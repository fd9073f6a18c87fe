"""`keep_heap`: memory of tensors is kept between forwards unless the operator has set malloc. In processes apart."""

import subprocess
import sys

import pytest

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


@pytest.mark.skipif(sys.platform != "linux", reason="the setting is glibc's")
def test_a_forward_asks_for_no_page_again() -> None:
    def run(how: str) -> tuple[str, int]:
        command = [sys.executable, "-c", FAULTS, how]
        environ = {"MALLOC_TRIM_THRESHOLD_": "131072", "PYTHONPATH": ":".join(sys.path)} if how != "kept" else None
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environ, timeout=120)
        did, faults = ran.stdout.split()
        return did, int(faults)

    did, faults = run("kept")
    assert did == "True"
    assert faults < 100
    did, faults = run("as glibc has it")
    assert did == "False"
    assert faults > 10_000
