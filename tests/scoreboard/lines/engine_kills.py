"""The engine process is killed under load, by SIGKILL and by SIGSEGV: who waits is told, and it is back soon."""

import signal
from pathlib import Path

from tests.conftest import CHECKPOINT, LiveServer
from tests.scoreboard.line import Line, Result, Sabotage
from tests.scoreboard.lines.recovery import fault_engine, load_seconds
from tests.scoreboard.lines.steady_load import SteadyLoad, faults_of

MARGIN_S = 2.0
DETECT_S = 1.0
SEGV_EVERY = 6


def run(size: int, folder: Path) -> Result:
    """So many kills, every sixth a SIGSEGV; ready again within a model load and 2 s, no answer swapped."""
    server = LiveServer(folder / "engine_kills.log", "--model", str(CHECKPOINT), "--breaker-deaths", "100000")
    server.wait_until_ready()
    limit_s = load_seconds(server) + MARGIN_S
    load = SteadyLoad(server.url).start()
    recoveries, faults = [], list[str]()
    for number in range(size):
        kind = signal.SIGSEGV if number % SEGV_EVERY == SEGV_EVERY - 1 else signal.SIGKILL
        _, seconds, fault = fault_engine(server, kind, DETECT_S)
        recoveries.append(seconds)
        if fault or seconds > limit_s:
            faults.append(f"{kind.name}: {fault or f'ready after {seconds:.1f} s'}")
    load.stop()
    faults += faults_of(load, server)
    if server.stop() != 0:
        faults.append("the front did not end well")
    num_right = sum(getattr(answer, "status_code", 0) == 200 for _, answer in load.answers)
    told = (
        f"ready again after {sorted(recoveries)[len(recoveries) // 2]:.1f} s, worst {max(recoveries):.1f} s "
        f"(limit: load {limit_s - MARGIN_S:.1f} s + 2 s); {num_right} answers of {len(load.answers)} requests"
    )
    return Result(size, len(faults), [told, *faults[:5]])


LINE = Line(
    number=14,
    name="engine_kills",
    measure="engine killed under load (SIGKILL, SIGSEGV)",
    must="front lives, ready again < model load + 2 s, no swapped or doubled answer",
    ci=12,
    nightly=120,
    run=run,
    sabotages=(
        Sabotage(
            name="an engine that was ready is replaced late",
            file="service/front/supervisor.py",
            old="MIN_BACKOFF_S if self._ready_s is not None else",
            new="5.0 if self._ready_s is not None else",
            size=2,
        ),
        Sabotage(
            name="answers go to whoever waits longest",
            file="service/front/client.py",
            old="if (pending := self._pending.pop(vector.id, None)) is not None:",
            new="if (pending := self._pending.pop(next(iter(self._pending), 0), None)) is not None:",
            size=1,
        ),
    ),
)
