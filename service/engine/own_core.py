"""The core that the engine's main thread keeps, where the engine has two threads on two cores.

When a short query comes, the kernel may wake the main thread on the core that the front still runs on, put the thread
that is to compute the other half of each product behind one of them, and part them milliseconds later. A main thread
that stays where it is has the other put beside it. With fewer threads than cores there is a free core to wake on; with
more than two, libgomp ends and starts threads between pieces of different width, and those would inherit the one core.
"""

import os
from collections.abc import Mapping

BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_DYNAMIC")
"""How an operator says where threads belong, or that OpenMP counts cores; `OMP_PROC_BIND=false` leaves all free."""


def keep_core(num_threads: int, environ: Mapping[str, str] = os.environ) -> int | None:
    """Bind the calling thread to one core. Threads that it starts later inherit that; those there are stay free.

    Args:
        num_threads: that compute.
        environ: what an operator says of binding stands.

    Returns:
        the core, by the process's number, so that two engines seldom choose alike; None where nothing was bound.

    Source: sched(7), sched_setaffinity(2); libgomp's `gomp_team_start` for what it does with its threads.
    """
    if not hasattr(os, "sched_setaffinity") or any(name in environ for name in BINDING):
        return None
    cores = sorted(os.sched_getaffinity(0))
    if not len(cores) == num_threads == 2:
        return None
    core = cores[os.getpid() % 2]
    try:
        os.sched_setaffinity(0, {core})
    except OSError:  # a sandbox that does not allow it, or a core that has just been taken away
        return None
    return core
