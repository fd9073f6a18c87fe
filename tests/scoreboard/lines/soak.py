"""Minutes at 70 % of what the server can, a fifth of it hostile: nothing may grow, slow down or fail.

`size` is in seconds. Below an hour a slope says little, since an allocator settles for minutes, and a 99th percentile
is that of whatever else the machine did; then the bars are what was gained between the first and the last fifth after
warm-up, and the median's drift. From an hour on they are the slope, and the drift of the 99th percentile.
"""

import asyncio
import json
import time
from pathlib import Path

from tests.conftest import LiveServer, image, image_part
from tests.scoreboard.hostile import attack
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.pace import Pace, ask, texts
from tests.scoreboard.vitals import Vitals, processes_of, watch

PEAK_S = 8.0
LOAD = 0.7
HOSTILE = 0.2
WARM = 0.4
"""Share of the run in which caches, pools and the allocator fill."""

MOST_GROWN_MIB = 8.0
MOST_MIB_PER_H = 1.0
MOST_SLOWER, MOST_SLOWER_SHORT = 1.1, 1.5
SHARE, SHARE_SHORT = 0.99, 0.5
NOISE_MS = 5.0
SETTLE_S = 3.0
HOUR_S = 3600
SMALL = ("--encoder-cache-bytes", "4MiB", "--media-store-bytes", "1MiB", "--pixel-arena-bytes", "16MiB")
FLAGS = ("--receive-timeout-s", "2", *SMALL)


@line(18, "seconds at 70 % load, a fifth hostile", "memory and files flat, no drift, 0 5xx", sizes=(300, 28_800))
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log", *FLAGS) as server:
        return asyncio.run(_soak(server, size))


async def _soak(server: LiveServer, size: int) -> Result:
    bodies = texts(200) + [_with_image(number) for number in range(50)]
    peak = await ask(server, bodies, time.monotonic() + PEAK_S)
    per_s = LOAD * len(peak.seconds) / PEAK_S
    processes = processes_of(server.process.pid)
    for process in processes:
        process.sample()
    idle_files = [process.num_files.pop() for process in processes]
    until_s = time.monotonic() + size
    honest, statuses, _ = await asyncio.gather(
        ask(server, bodies, until_s, per_s * (1 - HOSTILE), num=8),
        attack(server, until_s, per_s * HOSTILE),
        watch(processes, until_s),
    )
    await asyncio.sleep(SETTLE_S)
    failures = [*honest.failures, *_growth(processes, idle_files, size), *_slower(honest, size)]
    failures += [
        f"{count} hostile requests were answered {status}" for status, count in statuses.items() if status >= "5"
    ]
    if len(processes_of(server.process.pid)) != len(processes) or server.status("/readyz") != 200:
        failures.append("the engine was started again, or is not ready")
    num_tried = len(honest.seconds) + statuses.total()
    return Result(num_tried, len(failures), [*failures[:5], *_told(honest, processes, per_s, dict(statuses))])


def _with_image(number: int) -> bytes:
    return json.dumps({"inputs": [{"content": [image_part(image(number))]}]}).encode()


def _growth(processes: list[Vitals], idle_files: list[int], size: int) -> list[str]:
    found = []
    for process, before in zip(processes, idle_files, strict=True):
        slope, grown = process.slope_mib_per_h(WARM), process.grown_mib(WARM)
        if slope > MOST_MIB_PER_H if size >= HOUR_S else grown > MOST_GROWN_MIB:
            found.append(f"process {process.pid} grew by {grown:.1f} MiB, {slope:.0f} MiB/h")
        process.sample()
        if process.num_files[-1] > before + 2:  # the client of this line may hold one, and the log is another
            found.append(f"process {process.pid} held {before} files before and {process.num_files[-1]} after")
    return found


def _slower(honest: Pace, size: int) -> list[str]:
    share, most = (SHARE, MOST_SLOWER) if size >= HOUR_S else (SHARE_SHORT, MOST_SLOWER_SHORT)
    first, last = honest.quantile_ms(share, 0.2, 0.5), honest.quantile_ms(share, 0.7, 1.0)
    return [f"quantile {share} was {first:.1f} ms, then {last:.1f} ms"] if last > first * most + NOISE_MS else []


def _told(honest: Pace, processes: list[Vitals], per_s: float, statuses: dict[str, int]) -> list[str]:
    grown = ", ".join(f"{one.grown_mib(WARM):+.1f} MiB ({one.slope_mib_per_h(WARM):+.0f} MiB/h)" for one in processes)
    p99 = f"{honest.quantile_ms(0.99, 0.2, 0.5):.1f} ms then {honest.quantile_ms(0.99, 0.7, 1.0):.1f} ms"
    answers = " ".join(f"{status or 'none'}:{count}" for status, count in sorted(statuses.items()))
    return [f"at {per_s:.0f} requests/s; front and engine {grown}; p99 {p99}", f"the hostile were answered {answers}"]
