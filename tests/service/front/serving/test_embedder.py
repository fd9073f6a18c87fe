"""Large jobs run in parts, two at a time; the first failure ends them all. Comparisons leave cores to the engine."""

import asyncio
import gc
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from service.accounting import NOTED, Stages, stage
from service.errors import DeadlineError, ModelError, ServiceError, UnavailableError
from service.fairness import Steps
from service.front.admission.forward_rate import LEAST_SAMPLES, SAMPLE_S, ForwardRate
from service.front.admission.load import Load
from service.front.hub.hosted_front import HostedFront
from service.front.job import EmbeddedInput, EmbedResult, InputResult, Job
from service.front.serving.embedder import SMALL_CHARS, Embedder
from service.front.serving.resources import Resources
from service.front.tenant import SERVICE, Caller
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.outputs.dense import DenseAsk
from service.prompt.prompt import Prompt
from service.settings.settings import Settings
from tests.service.front.inputs.test_reader import input_reader

READER = input_reader()
NUM_IN_PART = 20
TEXTS = [f"text {i}" for i in range(6 * NUM_IN_PART)]
NUM_STEPS = 2000


class Engine:
    """Runs prompts in a millisecond; `num_most` is how many runs there were at once."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.num_runs = self.num_most = self.num_cancelled = 0
        self.starts = list[int]()

    def check_open(self, *, is_probe: bool = False) -> None: ...

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], asks: Asks, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        self.starts.append(min(prepared))
        self.num_runs += 1
        self.num_most = max(self.num_most, self.num_runs)
        try:
            with stage("media"):
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


def embedder_of(engine: Engine, forwards: ForwardRate | None = None, **limits: int) -> Embedder:
    settings = Settings(threads=2, max_batch_requests=NUM_IN_PART, max_batch_tokens=5000, **limits)  # type: ignore[arg-type]
    shared = Resources(settings, HostedFront(settings))
    return Embedder(READER, engine, shared.queue, forwards or ForwardRate(8192), shared, settings)


def job_of(answer_bytes: int = 0) -> Job:
    job = READER.embedding_job(EmbeddingRequest(input=TEXTS), (DenseAsk(dimensions=8),), SERVICE.tenant)
    return Job(**{name: getattr(job, name) for name in job.__struct_fields__} | {"answer_bytes": answer_bytes})


async def test_parts_are_joined_in_order_and_summed_up() -> None:
    engine = Engine()
    result = await embedder_of(engine).embed(job_of(), SERVICE)
    assert [one.vector.id for one in result.embedded] == list(range(len(TEXTS)))
    assert result.counts.num_tokens == sum(len(one.prompt.plan.ids) for one in result.embedded)
    assert (result.num_inputs, result.counts.num_hits) == (len(TEXTS), len(TEXTS))
    assert (result.queue_ms, result.num_batched, result.errors) == (len(TEXTS) - 1, 2, [])
    assert (engine.starts, engine.num_most) == (list(range(0, len(TEXTS), NUM_IN_PART)), 2)


async def test_the_first_failure_ends_the_others_and_no_more_begin() -> None:
    engine = Engine(fails_at=NUM_IN_PART)
    with pytest.raises(ModelError, match="it failed"):
        await embedder_of(engine).embed(job_of(), SERVICE)
    assert engine.num_runs == 0
    assert max(engine.starts) <= 2 * NUM_IN_PART


async def test_whoever_gives_up_ends_all_runs() -> None:
    engine = Engine()
    work = asyncio.create_task(embedder_of(engine).embed(job_of(), SERVICE))
    while engine.num_runs < 2:
        await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (engine.num_runs, engine.num_cancelled) == (0, 2)


async def test_nothing_runs_where_the_queue_has_no_room_for_the_first_part() -> None:
    engine = Engine()
    embedder = embedder_of(engine, max_queue_tokens=NUM_IN_PART)
    with embedder.lease(1, SERVICE) as lease:
        lease.grow(Load(num_tokens=1))
        with pytest.raises(UnavailableError):
            await embedder.embed(job_of(), SERVICE)
    assert engine.starts == []


async def test_what_may_be_late_runs_whole_so_that_it_is_refused_before_anything_has_run() -> None:
    now_s = [0.0]
    forwards = ForwardRate(1, lambda: now_s[0])
    for number in range(LEAST_SAMPLES):
        now_s[0] += SAMPLE_S
        forwards.ran([[number]], 1.0, 1.0)  # a token in a second
    engine = Engine()
    await embedder_of(engine, forwards=forwards).embed(job_of(), Caller(SERVICE.tenant, time.monotonic() + 9, 9))
    assert engine.starts == [0]


async def test_runs_side_by_side_are_no_stages_of_the_request() -> None:
    NOTED.set(stages := Stages())
    await embedder_of(Engine()).embed(job_of(), SERVICE)
    assert [name for name, *_ in stages.intervals] == ["engine"]


@pytest.mark.parametrize("fails_at", [4, None])
async def test_what_a_failed_or_cancelled_job_holds_is_given_back_at_once(fails_at: int | None) -> None:
    """Without a collection of cycles, which comes seldom."""
    gc.collect()
    gc.disable()
    try:
        embedder = embedder_of(Engine(fails_at))
        with suppress(ModelError, TimeoutError):
            async with asyncio.timeout(None if fails_at else 0.002):
                await embedder.embed(job_of(answer_bytes=10 << 20), SERVICE)
            pytest.fail("it neither failed nor was cancelled")
        await asyncio.sleep(0)  # the loop forgets who woke this task
        assert embedder._answers.held.is_nothing()
    finally:
        gc.enable()


async def compared(patience_s: float, num_callers: int) -> tuple[list[object], list[str]]:
    """Result of each caller's comparison, and the threads of its steps."""
    embedder, threads = embedder_of(Engine()), list[str]()

    def steps() -> Steps[float]:
        for _ in range(NUM_STEPS):
            threads.append(threading.current_thread().name)
            time.sleep(0.001)
            yield
        return 1.0

    caller = Caller(SERVICE.tenant, time.monotonic() + patience_s, patience_s)
    works = [embedder.compare(steps(), SMALL_CHARS + 1, caller) for _ in range(num_callers)]
    return list(await asyncio.gather(*works, return_exceptions=True)), threads


async def test_a_comparison_ends_at_its_deadline() -> None:
    (error,), threads = await compared(0.05, 1)
    assert isinstance(error, DeadlineError)
    assert len(threads) < NUM_STEPS


@pytest.mark.parametrize("num_callers", [1, 3])
async def test_comparisons_leave_half_of_the_cores_to_the_engine(num_callers: int) -> None:
    _, threads = await compared(0.2, num_callers)
    assert len(set(threads)) == 1
    assert threads[0].startswith("compare")
