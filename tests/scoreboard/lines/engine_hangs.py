"""The engine process is stopped in the middle of its work: the watchdog notices, ends it, and the service heals."""

import signal
from pathlib import Path

from tests.conftest import CHECKPOINT, LiveServer
from tests.scoreboard.line import Line, Result
from tests.scoreboard.lines.recovery import fault_engine, kill_at_exit
from tests.scoreboard.lines.steady_load import SteadyLoad, faults_of

STUCK_S = 2.0
DETECT_S = STUCK_S + 2.0


def run(size: int, folder: Path) -> Result:
    """So many SIGSTOPs under load; `/readyz` must turn within the limit and 2 s, `/livez` stay 200."""
    flags = ("--engine-stuck-s", str(STUCK_S), "--breaker-wait-s", "0")
    server = kill_at_exit(LiveServer(folder / "engine_hangs.log", "--model", str(CHECKPOINT), *flags))
    server.wait_until_ready()
    load = SteadyLoad(server.url).start()
    detected, recoveries, faults = [], [], list[str]()
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
    server.stop()
    told = (
        f"detected after at most {max(detected):.1f} s (limit {STUCK_S:g} s + 2 s), "
        f"ready again {max(recoveries):.1f} s later at most"
    )
    return Result(size, len(faults), [told, *faults[:5]])


LINE = Line(
    number=14,
    name="engine_hangs",
    measure="engine stopped under load (SIGSTOP)",
    must="not ready within limit + 2 s, live throughout, ready again, no swapped answer",
    ci=5,
    nightly=50,
    run=run,
    side_by_side=True,
)
