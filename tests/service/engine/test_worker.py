"""Where an engine process begins: what it ignores, and what its collector is spared."""

import subprocess
import sys

BEGIN = """
import gc, signal, sys
import service.engine.worker as worker
print("torch" in sys.modules)
import service.engine.engine as engine
engine.run = lambda *descriptors: print(
    descriptors, gc.isenabled(), gc.get_freeze_count() > 100_000, signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
)
sys.argv = ["worker", "name", "3", "4", "5"]
worker.main()
"""


def test_torch_is_imported_when_signals_are_ignored_and_out_of_all_collections() -> None:
    said = subprocess.run([sys.executable, "-c", BEGIN], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == ["False", "(3, 4, 5) True True True"]
