"""Whether anything holds the event loop: how late it wakes a task that only sleeps.

Everybody who waits for the loop waits at least as long: probes, heads of requests, answers that are ready. What of it
was want of a core, and no fault of ours, is known on Linux and counted out in a second series.
"""

import asyncio
import contextlib
import io
import os
import sys

from service import metrics

SAMPLE_S = 0.1

SWITCH_INTERVAL_S = 0.001
"""How long a thread may keep Python's global lock while the loop wants it. Python's own 5 ms come on top each time that
the loop wakes while prompts are made."""

SCHEDSTAT = "/proc/thread-self/schedstat"


async def watch_loop() -> None:
    """Note the loop's lag for ever, and let threads give way to it sooner."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    loop = asyncio.get_running_loop()
    with _schedstat() as stat:
        waited_s = _waited_s(stat)
        while True:
            due_s = loop.time() + SAMPLE_S
            await asyncio.sleep(SAMPLE_S)
            lag_s = max(0.0, loop.time() - due_s)
            before_s, waited_s = waited_s, _waited_s(stat)
            metrics.LOOP_LAG.observe(lag_s)
            metrics.LOOP_HELD.observe(max(0.0, lag_s - (waited_s - before_s)))


def _schedstat() -> contextlib.AbstractContextManager[io.FileIO | None]:
    """What the kernel counts of this thread, opened once: to open it each time costs more than the rest."""
    try:
        return io.FileIO(SCHEDSTAT)
    except OSError:
        return contextlib.nullcontext()


def _waited_s(stat: io.FileIO | None) -> float:
    """How long this thread has been ready to run and had no core, since it began; 0 where nobody counts that.

    Source: the kernel's documentation, scheduler/sched-stats, `/proc/<pid>/schedstat`.
    """
    return 0.0 if stat is None else int(os.pread(stat.fileno(), 128, 0).split()[1]) / 1e9
