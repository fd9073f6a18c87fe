"""The rest of a request is looked at while it runs, and the engine says what it has kept."""

import asyncio
import time

import pytest
from msgspec.structs import replace

from service.errors import DeadlineError
from service.front.admission.forward_rate import LEAST_SAMPLES, SAMPLE_S, ForwardRate
from service.front.engine_client import in_time
from service.front.engine_client.in_time import over_in_time
from service.front.engine_client.pending import all_settled
from service.front.tenant import SERVICE, Caller
from service.ipc.messages import AreKept, AskKept, StepDone
from service.ipc.prompt_digest import prompt_digest
from service.outputs.ask import Asks
from service.outputs.block import blocks_of
from service.outputs.features import FeaturesAsk
from service.outputs.plan import TokenPlan
from service.prompt.prompt import Prompt
from tests.service.front.engine_client.played_engine import ASKS, Stage, vector

NUM_TOKENS = 4


def made(num: int) -> list[Prompt]:
    """Prompts of four tokens, each like no other."""
    return [Prompt(TokenPlan([1 + number] * NUM_TOKENS), (), truncated=False) for number in range(num)]


def measured(num_per_s: int) -> ForwardRate:
    """Rates of so many prompts in a second."""
    now_s = [0.0]
    forwards = ForwardRate(NUM_TOKENS, lambda: now_s[0])
    for number in range(LEAST_SAMPLES):
        now_s[0] += SAMPLE_S
        forwards.ran([[number] * NUM_TOKENS], 1.0, 1 / num_per_s)
    return forwards


def hurried(seconds: float) -> Caller:
    return Caller(SERVICE.tenant, time.monotonic() + seconds, seconds)


@pytest.mark.parametrize("num_answered", [0, 1, 40])
async def test_what_is_left_is_refused_as_soon_as_it_cannot_be_done(
    stage: Stage, num_answered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept vectors are answered before anything runs: until an answer is there, all may be kept."""
    monkeypatch.setattr(in_time, "LOOK_S", 0.01)
    await stage.connect()
    pending = stage.client.submit([(one, ()) for one in made(50)], ASKS)
    wait, caller = all_settled(pending, per_item=False), hurried(10)  # there is time for twenty, and twice as many
    ended = asyncio.create_task(over_in_time(wait, measured(2), pending, caller))
    vectors = [vector(one.request.id) for one in pending]
    stage.client.receive(StepDone(blocks=blocks_of(vectors[:num_answered])))
    await asyncio.sleep(0.2)
    if num_answered == 1:
        with pytest.raises(DeadlineError, match=r"196 tokens cannot be done in time: at 8 tokens per second") as caught:
            await ended
        assert caught.value.is_final
        return
    assert not ended.done()
    stage.client.receive(StepDone(blocks=blocks_of(vectors[num_answered:])))
    await ended


@pytest.mark.parametrize("asks", [ASKS, (FeaturesAsk(dtype="float32", width=8),)])
async def test_what_takes_no_forward_is_not_judged_by_forwards(
    stage: Stage, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_time, "LOOK_S", 0.01)
    is_static = asks == ASKS
    await stage.connect()
    prompts = [Prompt(TokenPlan(one.plan.ids, uses_static_weights=is_static), (), truncated=False) for one in made(50)]
    pending = stage.client.submit([(one, ()) for one in prompts], asks)
    wait = all_settled(pending, per_item=False)
    ended = asyncio.create_task(over_in_time(wait, measured(2), pending, hurried(1)))
    stage.client.receive(StepDone(blocks=blocks_of([vector(pending[0].request.id)])))
    await asyncio.sleep(0.1)
    stage.client.receive(StepDone(blocks=blocks_of([vector(one.request.id) for one in pending[1:]])))
    await ended


@pytest.mark.parametrize("is_lost", [False, True])
async def test_the_engine_is_asked_what_it_has_kept(
    stage: Stage, is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_time, "ANSWER_S", 0.05 if is_lost else 20)
    engine = await stage.connect()
    prompts = made(3)
    asked = asyncio.create_task(stage.client.not_kept(prompts, ASKS, SERVICE))
    question = await engine.receive()
    assert isinstance(question, AskKept)
    if is_lost:
        assert await asked is None
    stage.client.receive(AreKept(id=question.id, are_kept=[True, False, True]))
    if not is_lost:
        (left,) = await asked or [None]
        assert left is not None
        assert left.plan.ids == prompts[1].plan.ids
        assert question.digests[1] == prompt_digest(left, salt=left.tenant)


@pytest.mark.parametrize(("max_batch_tokens", "least_s"), [(NUM_TOKENS, 1), (2 * NUM_TOKENS + 1, 0)])
async def test_a_full_forward_is_measured_by_what_ran(max_batch_tokens: int, least_s: int) -> None:
    now_s = [0.0]
    forwards = ForwardRate(max_batch_tokens, lambda: now_s[0])
    stage = Stage(forwards)
    await stage.connect()
    for num_batched, num_cached in ((0, 0), (2, 2), *[(2, 1)] * LEAST_SAMPLES):
        now_s[0] += SAMPLE_S
        pending = stage.client.submit([(one, ()) for one in made(2)], ASKS)
        answers = [replace(vector(one.request.id), inference_ms=1e3, num_batched=num_batched) for one in pending]
        cached = [replace(one, is_cached=True) for one in answers[:num_cached]]
        stage.client.receive(StepDone(blocks=blocks_of([*cached, *answers[num_cached:]])))
    assert forwards.plain_s([NUM_TOKENS]) == pytest.approx(least_s)
