"""The collector of a process that is ready: what stays is out of it, and what comes is not."""

import subprocess
import sys

READY = """
import gc
gc.disable()
from service.garbage import MAX_NEW_OBJECTS, keep_out_of_collections
keep_out_of_collections()
print(gc.isenabled(), gc.get_freeze_count() > 1000, gc.get_threshold()[0] == MAX_NEW_OBJECTS)
"""


def test_a_process_that_is_ready_collects_what_is_new_alone() -> None:
    ready = subprocess.run([sys.executable, "-c", READY], capture_output=True, text=True, check=True)
    assert ready.stdout.split() == ["True"] * 3
