"""Parts of a job side by side: no more than the engine has use for, and all ended with the first that fails."""

import asyncio
import gc
import os
from collections.abc import Mapping
from contextlib import suppress

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from service.errors import ModelError, ServiceError
from service.front.admission.answer_room import AnswerRoom, Hold
from service.front.admission.forward_rate import ForwardRate
from service.front.admission.shared_table import SharedTable
from service.front.job import EmbeddedInput, EmbedResult, InputResult
from service.front.serving.part_runs import NUM_AHEAD, NUM_UNFINISHED, PartRuns, TakePart
from service.front.tenant import SERVICE, Caller
from service.ipc.bell import Bell, ring
from service.ipc.messages import Output, OutputSpec
from service.ipc.vectors import Vector
from service.prompt.prompt import Prompt
from service.stages import open_stages, stage
from tests.service.front.inputs.test_reader import input_reader

READER = input_reader()
PARTS = [range(i, i + 2) for i in range(0, 12, 2)]
PROMPTS = [Prompt([1], (), truncated=False), Prompt([1, 2], (), truncated=False)]


class Engine:
    """Runs prompts when it is told to; `num_most` is how many runs there were at once."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.num_runs = self.num_most = self.num_cancelled = 0

    def check_open(self, *, is_probe: bool = False) -> None: ...

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], output: Output, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        self.num_runs += 1
        self.num_most = max(self.num_most, self.num_runs)
        try:
            with stage("engine"):
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        finally:
            self.num_runs -= 1
        if self.fails_at in prepared:
            raise ModelError("internal_error", "it failed", index=self.fails_at)
        results: list[InputResult] = [
            EmbeddedInput(
                end,
                Vector(id=index, rows={}, num_hits=1, num_misses=0, queue_ms=index, inference_ms=1.0, num_batched=2),
            )
            for index, end in prepared.items()
            if isinstance(end, Prompt)
        ]
        return EmbedResult(results, 1.0)


async def run(engine: Engine, take_part: TakePart | None = None, hold: Hold | None = None) -> EmbedResult:
    request = EmbeddingRequest(input=["x"] * 12)
    job = READER.embedding_job(request, OutputSpec(dimensions=8), SERVICE.tenant)
    runs = PartRuns(engine, Bell(), job, SERVICE, hold, take_part, ForwardRate(8192))
    async with runs:
        for part in PARTS:
            await runs.is_time()
            await runs.has_room()
            await runs.begin(part, PROMPTS)
        return await runs.result()


class Held(Engine):
    """Ends no run before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = asyncio.Event()

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], output: Output, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        await self.may_end.wait()
        return await super().run(prepared, output, caller, per_item=per_item)


@pytest.mark.skipif(not hasattr(os, "eventfd"), reason="no bells on this system")
def test_prompts_are_made_when_the_bell_rings_and_wait_for_room() -> None:
    async def check() -> None:
        bell, engine = Bell(), Held()
        job = READER.embedding_job(EmbeddingRequest(input=["x"] * 12), OutputSpec(dimensions=8), SERVICE.tenant)
        runs = PartRuns(engine, bell, job, SERVICE, None, None, ForwardRate(8192))
        async with runs:
            for part in PARTS[:NUM_AHEAD]:
                await runs.is_time()
                await runs.has_room()
                await runs.begin(part, PROMPTS)
            for part in PARTS[NUM_AHEAD:NUM_UNFINISHED]:
                time = asyncio.ensure_future(runs.is_time())
                assert not (await asyncio.wait([time], timeout=0.05))[0]
                ring(bell.descriptor)
                await asyncio.wait_for(time, 5)
                await asyncio.wait_for(runs.has_room(), 5)  # though no vector has come
                await runs.begin(part, PROMPTS)
            time, room = asyncio.ensure_future(runs.is_time()), asyncio.ensure_future(runs.has_room())
            ring(bell.descriptor)
            await asyncio.wait_for(time, 5)
            assert not (await asyncio.wait([room], timeout=0.05))[0]
            engine.may_end.set()
            await asyncio.wait_for(room, 5)
            await runs.result()

    asyncio.run(check())


def test_parts_are_joined_in_order_and_summed_up() -> None:
    engine = Engine()
    result = asyncio.run(run(engine))
    assert [one.vector.id for one in result.embedded] == list(range(12))
    assert (result.num_inputs, result.counts.num_tokens, result.counts.num_hits) == (12, 18, 12)
    assert (result.queue_ms, result.num_batched, result.errors) == (11, 2, [])
    assert engine.num_most == NUM_AHEAD


def test_what_takes_a_part_has_it_and_the_sums_stay() -> None:
    taken: dict[int, list[InputResult]] = {}

    async def take(part: range, results: object, hold: object) -> None:
        assert hold is None
        taken[part.start] = list(results)  # type: ignore[call-overload]

    result = asyncio.run(run(Engine(), take))
    assert sorted(taken) == [part.start for part in PARTS]
    assert (list(result.inputs), result.num_inputs, result.counts.num_tokens) == ([], 12, 18)


def test_the_first_failure_ends_the_others_and_no_more_begin() -> None:
    engine = Engine(fails_at=4)
    with pytest.raises(ModelError, match="it failed"):
        asyncio.run(run(engine))
    assert engine.num_runs == 0
    assert engine.num_most == NUM_AHEAD


def test_whoever_gives_up_ends_all_runs() -> None:
    engine = Engine()

    async def give_up() -> None:
        async with asyncio.timeout(0.0005):
            await run(engine)

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert (engine.num_runs, engine.num_cancelled) == (0, NUM_AHEAD)


def test_runs_side_by_side_are_no_stages_of_the_request() -> None:
    async def noted() -> list[str]:
        stages = open_stages()
        await run(Engine())
        return [name for name, *_ in stages.intervals]

    assert asyncio.run(noted()) == []


@pytest.mark.parametrize("fails_at", [4, None])
def test_what_a_failed_or_cancelled_job_holds_is_given_back_at_once(fails_at: int | None) -> None:
    """Without a collection of cycles, which comes seldom."""
    room = AnswerRoom(1 << 30, 1.0, SharedTable.of_one_front())

    async def end() -> bool:
        with suppress(ModelError, TimeoutError):
            async with asyncio.timeout(None if fails_at else 0.0005):
                await run(Engine(fails_at), hold=room.hold(10 << 20, SERVICE.tenant))
            pytest.fail("it neither failed nor was cancelled")
        await asyncio.sleep(0)  # the loop forgets who woke this task
        return room.hold(1 << 30, SERVICE.tenant) is not None  # refused beside others

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(end())
    finally:
        gc.enable()
