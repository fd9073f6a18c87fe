"""Requests when an engine ends, and inputs that engines die of."""

import pytest

from service.errors import ModelError, UnavailableError
from service.front.engine_client.client import MAX_UNSENT
from service.ipc.messages import Abandon, Pixels, StepDone, Submit, WantPixels
from service.media.image.decode import load_pixels
from service.outputs.block import blocks_of
from service.outputs.plan import TokenPlan
from service.prompt.prompt import Prompt
from tests.service.front.engine_client.played_engine import (
    ASKS,
    Stage,
    entered,
    item,
    next_submit,
    outcome_of,
    prompt,
    vector,
)


async def test_running_requests_fail_and_waiting_ones_are_sent_to_the_next_engine_once(stage: Stage) -> None:
    await stage.connect()
    running, waiting = await stage.submit(item(1)), await stage.submit(item(2))
    stage.client.entered = entered(1, running)
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await outcome_of(running)
    engine = await stage.connect()
    (again,) = (await next_submit(engine)).requests
    assert (again.id, again.media[0].slot, again.alone) == (waiting.request.id, None, False)
    stage.client.receive(WantPixels(keys=[again.media[0].key]))
    sent = await engine.receive()
    assert isinstance(sent, Pixels)
    assert bytes(stage.arena.view(sent.slot)) == load_pixels(item(2)).tobytes()
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await outcome_of(waiting)
    assert stage.arena.num_bytes_taken == 0


async def test_who_was_in_a_step_that_is_over_was_not_running(stage: Stage) -> None:
    """His image was encoded; he waited for the forward when the engine ended."""
    await stage.connect()
    pending = await stage.submit(item(1))
    stage.client.receive(StepDone(after=1))
    stage.client.entered = entered(1, pending)  # read after the answer to it
    stage.client.detach()
    assert pending.outcome is None
    engine = await stage.connect()
    (again,) = (await next_submit(engine)).requests
    assert (again.id, again.alone) == (pending.request.id, False)
    stage.client.entered = entered(1, pending)  # each engine counts from 1
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await outcome_of(pending)


async def test_requests_that_wait_for_the_next_engine_fail_when_none_comes(stage: Stage) -> None:
    await stage.connect()
    pending = await stage.submit()
    stage.client.detach()
    assert pending.outcome is None
    stage.client.give_up()
    with pytest.raises(UnavailableError, match="restarting"):
        await outcome_of(pending)


async def test_an_input_that_engines_die_of_runs_alone_and_then_not_at_all(stage: Stage) -> None:
    alone = []
    for _ in range(3):
        engine = await stage.connect()
        pending = await stage.submit()
        alone.append((await next_submit(engine)).requests[0].alone)
        stage.client.entered = entered(1, pending)
        stage.client.detach()
        with pytest.raises(UnavailableError):
            await outcome_of(pending)
    assert alone == [False, True, True]
    await stage.connect()
    with pytest.raises(ModelError, match="the engine ended each time"):
        await outcome_of(await stage.submit())


async def test_a_request_with_an_input_that_engines_die_of_can_be_abandoned_while_it_is_sent(stage: Stage) -> None:
    for _ in range(3):
        await stage.connect()
        stage.client.entered = entered(1, await stage.submit())
        stage.client.detach()
    engine = await stage.connect()
    others, deadly = Prompt(TokenPlan([2]), (), truncated=False), prompt()
    prompts = [deadly if i in (3, MAX_UNSENT + 30) else others for i in range(MAX_UNSENT + 40)]
    submitted = stage.client.submit([(one, ()) for one in prompts], ASKS)
    assert [i for i, one in enumerate(submitted) if one.outcome is not None] == [3]
    stage.client.abandon(submitted)
    sent = [await engine.receive() for _ in range(3)]
    assert [type(one) for one in sent] == [Submit, Submit, Abandon]
    assert sum(len(one.requests) for one in sent if isinstance(one, Submit)) == len(prompts) - 2
    assert isinstance(sent[2], Abandon)
    assert set(sent[2].ids) == {one.request.id for one in submitted} - {submitted[3].request.id}


async def test_a_suspect_that_is_answered_is_one_no_more(stage: Stage) -> None:
    engine = await stage.connect()
    pending = await stage.submit()
    stage.client.entered = entered(1, pending)
    stage.client.detach()
    engine = await stage.connect()
    suspect = await stage.submit()
    assert (await next_submit(engine)).requests[0].alone
    stage.client.receive(StepDone(blocks=blocks_of([vector(suspect.request.id)])))
    await stage.submit()
    assert not (await next_submit(engine)).requests[0].alone


async def test_one_end_of_an_engine_is_one_failed_run_however_many_asked_for_the_same(stage: Stage) -> None:
    await stage.connect()
    same = [await stage.submit() for _ in range(4)]
    stage.client.entered = entered(1, *same)
    stage.client.detach()
    for pending in same:
        with pytest.raises(UnavailableError):
            await outcome_of(pending)
    engine = await stage.connect()
    await stage.submit()
    (again,) = (await next_submit(engine)).requests
    assert again.alone
