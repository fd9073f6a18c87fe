"""The engine process is stopped in the middle of its work: the watchdog notices, ends it, and the service heals."""

import signal
from pathlib import Path

from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.lines.recovery import fault_engine
from tests.steady_load import SteadyLoad, faults_of

STUCK_S = 2.0
DETECT_S = STUCK_S + 2.0


@line(
    14,
    "engine stopped under load (SIGSTOP)",
    "not ready within limit + 2 s, live throughout, ready again, no swapped answer",
    sizes=(5, 50),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """So many SIGSTOPs under load; `/readyz` must turn within the limit and 2 s, `/livez` stay 200."""
    detected, recoveries, faults = [], [], list[str]()
    flags = ("--engine-stuck-s", str(STUCK_S), "--breaker-wait-s", "0")
    with served(folder / "server.log", *flags) as server:
        load = SteadyLoad(server.url).start()
        for _ in range(size):
            load.wait_for_answers(2 * load.num_clients)
            turned_s, seconds, fault = fault_engine(server, signal.SIGSTOP, DETECT_S)
            detected.append(turned_s)
            recoveries.append(seconds)
            faults += [fault] if fault else []
        load.stop()
        faults += faults_of(load, server)
        if (num := server.metric("cenote_engine_stuck_total")) != size:
            faults.append(f"{num:.0f} engines were counted as stuck")
    told = (
        f"detected after at most {max(detected):.1f} s (limit {STUCK_S:g} s + 2 s), "
        f"ready again {max(recoveries):.1f} s later at most"
    )
    return Result(size, len(faults), [told, *faults[:5]])
