"""The engine process is killed under load, by SIGKILL and by SIGSEGV: who waits is told, and it is back soon."""

import signal
from pathlib import Path

from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.lines.recovery import fault_engine, load_seconds
from tests.steady_load import SteadyLoad, faults_of

MARGIN_S = 2.0
DETECT_S = 1.0
SEGV_EVERY = 6
FLAGS = ("--breaker-wait-s", "0", "--encoder-cache-bytes", "0", "--pixel-arena-bytes", "200000")
"""Without a cache and with an arena of few images, pixels are on their way at any moment."""


LEFT = ("queue_inputs", "pixel_arena_bytes")
"""Slots lent to a dead engine are taken back, with those that it had asked for."""


@line(
    14,
    "engine killed under load (SIGKILL, SIGSEGV)",
    "front lives, ready again < model load + 2 s, no swapped or doubled answer",
    sizes=(12, 120),
)
def run(size: int, folder: Path) -> Result:
    """So many kills, every sixth a SIGSEGV; ready again within a model load and 2 s, no answer swapped."""
    over_load, faults = [], list[str]()
    with served(folder / "server.log", *FLAGS) as server:
        load = SteadyLoad(server.url).start()
        for number in range(size):
            load.wait_for_answers(2 * load.num_clients)
            kind = signal.SIGSEGV if number % SEGV_EVERY == SEGV_EVERY - 1 else signal.SIGKILL
            _, seconds, fault = fault_engine(server, kind, DETECT_S)
            over_load.append(seconds - load_seconds(server))
            if fault or over_load[-1] > MARGIN_S:
                faults.append(f"{kind.name}: {fault or f'ready {over_load[-1]:.1f} s later than a load takes'}")
        load.stop()
        faults += faults_of(load, server)
        if (num := server.metric("cenote_engine_restarts_total")) != size:
            faults.append(f"{num:.0f} restarts were counted")
        faults += [f"{name} is {left:.0f}" for name in LEFT if (left := server.metric(f"cenote_{name}"))]
        if server.stop() != 0:
            faults.append("the front did not end well")
    told = (
        f"ready again {sorted(over_load)[len(over_load) // 2]:.1f} s after a model load, worst {max(over_load):.1f} s "
        f"(limit 2 s); {load.num_right} vectors, {len(load.failures)} told to come again"
    )
    return Result(size, len(faults), [told, *faults[:5]])
