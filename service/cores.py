"""The cores that threads of a front run on: where there are two, the event loop keeps off the engine's.

The engine binds its own threads (`engine/startup/cpu_tuning.py`). What it sends wakes the front, and the kernel likes
to wake a reader where the writer runs: there each would wait for the other while the second core is free.

Source: sched(7), sched_setaffinity(2); Linux `select_task_rq_fair` and `wake_affine`.
"""

import os
from contextlib import suppress

ALL = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset[int]()
"""What this process was started with; empty where threads cannot be bound."""


def use_all() -> None:
    """Let the calling thread run everywhere: it had the cores of the thread that started it, as a process would."""
    _bind(ALL)


def keep_off(pid: int) -> None:
    """Bind the calling thread to the other core, if there are two and the main thread of a process is bound to one."""
    with suppress(OSError):
        taken = os.sched_getaffinity(pid) if len(ALL) == 2 else set[int]()
        if len(taken) == 1 and taken < ALL:
            _bind(ALL - taken)


def _bind(cores: frozenset[int]) -> None:
    with suppress(OSError):  # a sandbox that does not allow it, or a core that has just been taken away
        if cores:
            os.sched_setaffinity(0, cores)
