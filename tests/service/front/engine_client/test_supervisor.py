"""An engine that hangs while it loads: real processes, too slow for the little time that they get."""

import asyncio
import contextlib
from functools import partial
from pathlib import Path

from service import metrics
from service.decode.image_decoder import ThreadDecoder
from service.engine_series import EngineSeries
from service.front.admission.drain_rate import DrainRate
from service.front.admission.forward_rate import ForwardRate
from service.front.admission.shared_table import SharedTable
from service.front.engine_client.client import EngineClient
from service.front.engine_client.engine_process import start_engine
from service.front.engine_client.pixel_loader import PixelLoader
from service.front.engine_client.supervisor import Supervisor
from service.front.engine_client.watchdog import SupervisorTimeouts
from service.ipc.arena import PixelArena
from service.ipc.messages import Start
from tests.conftest import CHECKPOINT

LOAD_S = 0.2
"""No engine is loaded in this time: importing torch alone takes longer."""
START = Start(
    folder=str(CHECKPOINT),
    architecture="qwen3_vl",
    device="cpu",
    dtype="float32",
    arena_bytes=1 << 20,
    encoder_cache_bytes=0,
    max_batch_tokens=64,
    max_batch_requests=1,
    max_encoder_tokens=64,
    num_threads=1,
    pooling="last_token",
    log_format="human",
    log_level="info",
)


async def _never() -> None:
    raise AssertionError("an engine that is not loaded was asked")


async def _until_two_were_started(supervisor: Supervisor) -> tuple[int, int]:
    running = asyncio.create_task(supervisor.run())
    pids: list[int] = []
    while len(pids) < 2:
        await asyncio.sleep(0.01)
        process = supervisor.process
        if process is not None and process.pid not in pids:
            pids.append(process.pid)
    supervisor.end()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    return pids[0], pids[1]


def test_an_engine_that_takes_too_long_to_load_is_ended_and_another_started() -> None:
    arena, series = PixelArena(1 << 20), EngineSeries("tiny")
    loader = PixelLoader(arena, b"", ThreadDecoder(num_threads=1, max_bytes=1 << 20, deadline_s=5), num_threads=1)
    client = EngineClient(arena, loader, DrainRate(SharedTable.of_one_front()), ForwardRate(8192), series)
    supervisor = Supervisor(
        START,
        partial(start_engine, "tiny", arena.descriptor),
        client,
        _never,
        series,
        SupervisorTimeouts(load_s=LOAD_S),
    )
    num_stuck = _num_stuck()
    first, second = asyncio.run(_until_two_were_started(supervisor))
    assert _num_stuck() > num_stuck
    assert not _runs(first)
    assert first != second


def _num_stuck() -> float:
    return metrics.REGISTRY.get_sample_value("cenote_engine_stuck_total", {"model": "tiny"}) or 0.0


def _runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(") ")[2][0] != "Z"
