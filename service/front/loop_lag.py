"""Whether anything holds the event loop: how late it wakes a task that only sleeps.

Everybody who waits for the loop waits at least as long: probes, heads of requests, answers that are ready. What of it
was want of a core, and no fault of ours, is known on Linux and counted out in a second series.
"""

import asyncio
import sys
from pathlib import Path

from service import metrics

SAMPLE_S = 0.05

SWITCH_INTERVAL_S = 0.001
"""How long a thread may keep Python's global lock while the loop wants it. Python's own 5 ms come on top each time that
the loop wakes while prompts are made."""

SCHEDSTAT = Path("/proc/thread-self/schedstat")


async def watch_loop() -> None:
    """Note the loop's lag for ever, and let threads give way to it sooner."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    loop = asyncio.get_running_loop()
    while True:
        due_s, waited_s = loop.time() + SAMPLE_S, _waited_s()
        await asyncio.sleep(SAMPLE_S)
        lag_s = max(0.0, loop.time() - due_s)
        metrics.LOOP_LAG.observe(lag_s)
        metrics.LOOP_HELD.observe(max(0.0, lag_s - (_waited_s() - waited_s)))


def _waited_s() -> float:
    """How long this thread has been ready to run and had no core, since it began; 0 where nobody counts that.

    Source: the kernel's documentation, scheduler/sched-stats, `/proc/<pid>/schedstat`.
    """
    try:
        return int(SCHEDSTAT.read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
