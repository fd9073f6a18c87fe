"""The core that the engine's main thread keeps, where the engine has as many threads as there are cores.

When a short query comes, the kernel may wake the main thread on the core that the front still runs on, put the thread
that is to compute the other half of each product behind one of them, and part them milliseconds later. A main thread
that stays where it is has the others put around it. With fewer threads than cores there is a free core to wake on.
"""

import os
from collections.abc import Mapping

BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
"""How an operator says where threads belong; `OMP_PROC_BIND=false` leaves them all free."""


def keep_core(num_threads: int, environ: Mapping[str, str] = os.environ) -> int | None:
    """Bind the calling thread to one core. Threads that it starts later inherit that; those there are stay free.

    Args:
        num_threads: that compute.
        environ: what an operator says of binding stands.

    Returns:
        the core, the last of those that this process may use; None where nothing was bound.

    Source: sched(7), sched_setaffinity(2).
    """
    if not hasattr(os, "sched_setaffinity") or any(name in environ for name in BINDING):
        return None
    cores = os.sched_getaffinity(0)
    if not 1 < len(cores) <= num_threads:
        return None
    core = max(cores)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:  # a sandbox that does not allow it, or a core that has just been taken away
        return None
    return core
