"""The keeper of an engine: one that hangs while it loads, and what one is given, announces and is judged by."""

import asyncio
import os
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from service import metrics
from service.front.engine_client.front_link import EngineStatus, Loaded, ProbeResult
from service.front.hub import engine_keeper
from service.front.hub.engine_keeper import EngineKeeper
from service.front.hub.engine_lines import EngineLines, EngineLink
from service.front.hub.engine_process import EngineProcess
from service.front.hub.launch import NUM_SPINS, engine_environ
from service.ipc.announcements import Announcements
from service.ipc.channel import frame
from service.ipc.messages import Pong, Ready, Start, StepReport, StepStarted
from service.ipc.reports import CacheReport
from service.settings.settings import Settings
from tests.conftest import CHECKPOINT, children_of

LOAD_S = 0.2
"""No engine is loaded in this time: importing torch alone takes longer."""
FLOOR_S = 10.0
NAMED = {"served_name": ("kept",), "model": str(CHECKPOINT), "pixel_arena_bytes": 1 << 20}
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
    num_fronts=1,
    pooling="last_token",
    log_format="human",
    log_level="info",
    model="kept",
)


class Front:
    """A front that keeps what it is told; one that is full takes no descriptors."""

    index, is_serving = 1, True

    def __init__(self) -> None:
        self.links = [EngineLink()]
        self.told: list[Any] = []
        self.engines: list[tuple[int, int]] = []
        self.is_full = False

    def tell(self, message: Any) -> None:
        self.told.append(message)

    def connect(self, model: int, number: int, descriptors: tuple[int, int]) -> bool:
        assert [os.fstat(one) for one in descriptors]
        if not self.is_full:
            self.engines.append((model, number))
        return not self.is_full

    async def series(self) -> bytes:
        return b""

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        return b""


def counted(name: str) -> float:
    return metrics.SERVICE.get_sample_value(name, {"model": "kept"}) or 0.0


async def test_an_engine_that_takes_too_long_to_load_is_ended_and_another_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_keeper, "LOAD_S", LOAD_S)
    num_stuck, front, pids = counted("cenote_engine_stuck_total"), Front(), list[int]()
    keeper = EngineKeeper(Settings(**NAMED), 0, [front], 1)
    keeper.on_report(front, Loaded(model=0, start=START, host=0))
    while len(pids) < 2:
        await asyncio.sleep(0.01)
        if keeper.process is not None and keeper.process.pid not in pids:
            pids.append(keeper.process.pid)
    await keeper.end()
    assert counted("cenote_engine_stuck_total") > num_stuck
    assert pids[0] not in children_of(os.getpid())


class Kept:
    """A keeper whose engine is played: it has been loaded, and is attached."""

    def __init__(self) -> None:
        self.front, self.announcements = Front(), Announcements()
        self.keeper = keeper = EngineKeeper(Settings(**NAMED, engine_stuck_s=FLOOR_S), 0, [self.front], 1)
        keeper.ready = Ready(
            device="cpu", dtype="float32", hidden=8, num_parameters=1, kernels="", model_digest=b"", load_s=0.0
        )
        keeper._engine = cast(EngineProcess, self)
        keeper._lines.attach()
        keeper._watchdog.step = StepStarted(number=0, kind="forward", num_tokens=100, ids=[], began_s=0.0)
        keeper._watchdog.heard(8.0, 0)

    def write(self, message: Any) -> None:
        os.write(self.announcements.theirs, frame(message))

    def begin(self, number: int, began_s: float) -> None:
        self.write(StepStarted(number=number, kind="forward", num_tokens=100, ids=[], began_s=began_s))

    def probe(self, outcome: Any, engine: int = 1) -> None:
        self.keeper.on_report(self.front, ProbeResult(model=0, engine=engine, outcome=outcome, reason="why"))

    @property
    def states(self) -> list[str]:
        return [one.state for one in self.front.told if isinstance(one, EngineStatus)]


@pytest.fixture
def kept() -> Iterator[Kept]:
    one = Kept()
    yield one
    one.announcements.inherited()
    one.announcements.close()


def test_a_step_is_known_at_a_look_and_over_when_the_engine_says_so(kept: Kept) -> None:
    kept.begin(1, 100.0)
    kept.begin(2, 101.0)
    kept.keeper.look()
    assert kept.keeper._watchdog.limit_s == 5 * 8.0
    kept.keeper._on_message(Pong(after=1, said_s=101.0))
    assert kept.keeper._watchdog.limit_s == 5 * 8.0  # what was said before it does not end it
    kept.keeper._on_message(Pong(after=2, said_s=113.0))  # heard much later, and learned as what it was
    assert kept.keeper._watchdog.limit_s == FLOOR_S
    assert kept.keeper._watchdog.expected_s("forward", 100) == 12.0


def test_a_report_is_counted_once_and_ends_its_step(kept: Kept) -> None:
    before = counted("cenote_batch_inputs_count")
    kept.begin(1, 100.0)
    cache = CacheReport(num_entries=0, num_bytes=0, num_evictions=0)
    kept.write(StepReport(after=1, said_s=103.0, num_requests=2, num_tokens=100, cache=cache))
    kept.keeper.look()
    kept.keeper.look()
    assert counted("cenote_batch_inputs_count") - before == 1
    assert kept.keeper._watchdog.limit_s == FLOOR_S


def test_an_engine_that_announces_nonsense_is_not_used(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.probe("right")
    os.write(kept.announcements.theirs, b"\x03\0\0\0abc")
    kept.keeper._on_message(Pong(after=0))
    assert kept.states == ["ready", "restarting"]
    assert "This is a bug" in caplog.text


def test_an_engine_is_ready_by_its_first_right_answer_and_a_late_one_does_not_end_it(kept: Kept) -> None:
    assert not kept.keeper.is_ready
    kept.probe("right", engine=0)  # of one before it
    assert not kept.keeper.is_ready
    kept.probe("right")
    kept.probe("late")
    assert (kept.keeper.is_ready, kept.keeper.was_ready, kept.front.links[0].is_ready) == (True, True, True)
    assert kept.states == ["ready"]


@pytest.mark.parametrize(("outcome", "num_wrong"), [("late", 0), ("wrong", 1)])
def test_an_engine_that_fails_its_first_question_is_not_used(kept: Kept, outcome: str, num_wrong: int) -> None:
    before = counted("cenote_known_answer_mismatches_total")
    kept.probe(outcome)
    kept.probe("right")  # of another front, a moment later
    assert (kept.keeper.is_ready, kept.states) == (False, ["restarting"])
    assert counted("cenote_known_answer_mismatches_total") - before == num_wrong


def test_a_front_that_took_no_descriptors_is_connected_later_and_once() -> None:
    front = Front()
    front.links, front.is_full = [EngineLink(), EngineLink(is_loaded=True)], True
    lines = EngineLines(1, [front])
    engine = lines.open()
    lines.attach()
    assert (front.engines, front.links[1].engine) == ([], 0)
    assert _line_is_open(engine) is False  # the engine sees that nobody came
    front.is_full = False
    lines.connect_all()
    lines.connect_all()
    assert (front.engines, front.links[1].engine) == ([(1, 1)], 1)
    assert front.links[0].engine == 0


def _line_is_open(passed: socket.socket) -> bool:
    name, descriptors, _, _ = socket.recv_fds(passed, 16, 2)
    assert name == b"1"
    line = socket.socket(fileno=descriptors[0])
    line.setblocking(False)
    os.close(descriptors[1])
    try:
        return line.recv(1) != b""
    except BlockingIOError:
        return True
    finally:
        line.close()


def test_threads_of_the_engine_spin_for_a_short_while() -> None:
    environ = engine_environ({"PATH": "here", "HF_HUB_OFFLINE": "0"})
    assert environ["GOMP_SPINCOUNT"] == NUM_SPINS
    assert environ["PATH"] == "here"
    assert environ["HF_HUB_OFFLINE"] == "1"  # the front has found the checkpoint; the engine asks nobody


def test_what_an_operator_says_of_waiting_stands() -> None:
    assert engine_environ({"GOMP_SPINCOUNT": "7"})["GOMP_SPINCOUNT"] == "7"
    # libgomp would take the count and not the policy
    assert "GOMP_SPINCOUNT" not in engine_environ({"OMP_WAIT_POLICY": "ACTIVE"})
