"""Slots and futures between front and engine, whose end is played step by step."""

import asyncio
import socket
from typing import Any

import pytest

from service.errors import ModelError, UnavailableError
from service.front.engine_client.client import MAX_UNSENT
from service.front.engine_client.local_engine import results_of
from service.front.engine_client.pending import Pending, all_settled
from service.front.job import InputResult
from service.ipc.channel import AsyncChannel
from service.ipc.messages import Abandon, EngineMessage, Failure, Pixels, StepDone, Submit, WantPixels
from service.media.image.decode import load_pixels
from service.outputs.block import blocks_of
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


async def test_a_dead_engine_gives_back_its_own_slots_and_not_the_next_owners(stage: Stage) -> None:
    engine = await stage.connect()
    pending = await stage.submit(item(1))
    submitted = await engine.receive()
    assert isinstance(submitted, Submit)
    start = submitted.requests[0].media[0].slot.start  # type: ignore[union-attr]
    stage.client.receive(StepDone(released=[start]))  # encoded, not answered yet
    next_owner = (await stage.loader.load([item(2)])).take(item(2))
    assert next_owner.slot is not None
    assert next_owner.slot.start == start  # the same place, another owner
    stage.client.entered = entered(1, pending)
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await outcome_of(pending)
    assert stage.arena.num_bytes_taken == item(2).num_slot_bytes
    assert bytes(stage.arena.view(next_owner.slot)) == load_pixels(item(2)).tobytes()


async def test_slots_of_the_abandoned_come_back_from_the_engine_or_with_its_end(stage: Stage) -> None:
    engine = await stage.connect()
    submitted = [await stage.submit(item(1)), await stage.submit(item(2))]
    stage.client.abandon(submitted)
    assert [type(await engine.receive()) for _ in range(3)] == [Submit, Submit, Abandon]
    assert stage.arena.num_bytes_taken == 2 * item(1).num_slot_bytes  # the engine may still read them
    stage.client.detach()
    assert stage.arena.num_bytes_taken == 0


async def test_a_late_answer_to_the_abandoned_is_passed_over(stage: Stage) -> None:
    await stage.connect()
    pending = await stage.submit()
    stage.client.abandon([pending])
    stage.client.receive(StepDone(blocks=blocks_of([vector(pending.request.id)])))
    assert pending.outcome is None


async def test_an_answer_to_who_was_cancelled_in_the_same_turn_is_passed_over(stage: Stage) -> None:
    await stage.connect()
    gone, other = await stage.submit(), await stage.submit()
    waiting = asyncio.create_task(outcome_of(gone))
    await asyncio.sleep(0)
    waiting.cancel()  # its `finally`, which abandons, has not run yet
    stage.client.receive(StepDone(blocks=blocks_of([vector(gone.request.id), vector(other.request.id)])))
    assert (await outcome_of(other)).id == other.request.id


async def test_pixels_are_sent_again_when_the_engine_asks(stage: Stage) -> None:
    engine = await stage.connect()
    await stage.submit(item(1))
    again = await stage.submit(item(1))
    _, second = (await next_submit(engine)).requests
    key = second.media[0].key
    assert second.media[0].slot is None  # known: not sent a second time
    stage.client.receive(WantPixels(keys=[key]))
    sent = await engine.receive()
    assert isinstance(sent, Pixels)
    assert bytes(stage.arena.view(sent.slot)) == load_pixels(item(1)).tobytes()
    stage.client.receive(StepDone(blocks=blocks_of([vector(again.request.id)]), released=[sent.slot.start]))
    assert (await outcome_of(again)).id == again.request.id


async def test_pixels_decoded_for_an_engine_that_has_gone_are_given_back(stage: Stage) -> None:
    engine = await stage.connect()
    await stage.submit(item(1))
    submitted: Any = await engine.receive()
    stage.client.receive(WantPixels(keys=[submitted.requests[0].media[0].key]))
    stage.client.detach()
    while stage.client._tasks:
        await asyncio.sleep(0.01)
    assert stage.arena.num_bytes_taken == 0


async def test_each_answer_finds_its_own_question(stage: Stage) -> None:
    await stage.connect()
    submitted = [await stage.submit() for _ in range(20)]
    failures = [Failure(id=submitted[3].request.id, code="internal_error", message="the engine failed on this input")]
    answered = [vector(pending.request.id) for pending in reversed(submitted) if pending is not submitted[3]]
    stage.client.receive(StepDone(blocks=blocks_of(answered), failures=failures))
    for pending in submitted:
        if pending is submitted[3]:
            with pytest.raises(ModelError, match="failed on this input"):
                await outcome_of(pending)
        else:
            assert (await outcome_of(pending)).id == pending.request.id


async def test_only_the_probe_passes_before_the_engine_is_open(stage: Stage) -> None:
    await stage.connect()
    stage.client.detach()
    with pytest.raises(UnavailableError):
        stage.check_open(is_probe=True)
    ours, _ = socket.socketpair()
    stage.client.attach(await AsyncChannel.over(ours, EngineMessage))
    stage.check_open(is_probe=True)
    with pytest.raises(UnavailableError):
        stage.check_open()
    stage.client.open()
    stage.check_open()


async def test_a_submit_without_an_engine_gives_its_slots_back(stage: Stage) -> None:
    loaded = [(await stage.loader.load([item(1)])).take(item(1))]
    with pytest.raises(UnavailableError):
        stage.client.submit([(prompt(item(1)), loaded)], ASKS)
    assert stage.arena.num_bytes_taken == 0


async def test_what_is_submitted_in_one_turn_of_the_loop_goes_in_one_message(stage: Stage) -> None:
    engine = await stage.connect()
    ids = [pending.request.id for _ in range(3) for pending in stage.client.submit([(prompt(), ())] * 2, ASKS)]
    assert [request.id for request in (await next_submit(engine)).requests] == ids
    many = stage.client.submit([(prompt(), ())] * MAX_UNSENT, ASKS)
    few = stage.client.submit([(prompt(), ())], ASKS)
    assert len((await next_submit(engine)).requests) == len(many)  # a batch by itself waits for no others
    assert [request.id for request in (await next_submit(engine)).requests] == [few[0].request.id]


async def test_requests_that_were_never_sent_are_sent_once_to_the_next_engine(stage: Stage) -> None:
    await stage.connect()
    (pending,) = stage.client.submit([(prompt(), ())], ASKS)
    stage.client.detach()
    engine = await stage.connect()
    assert [request.id for request in (await next_submit(engine)).requests] == [pending.request.id]
    stage.client.abandon([pending])
    assert isinstance(await engine.receive(), Abandon)


async def test_the_abandoned_of_the_same_turn_are_known_to_the_engine(stage: Stage) -> None:
    engine = await stage.connect()
    submitted = stage.client.submit([(prompt(), ())], ASKS)
    stage.client.abandon(submitted)
    assert [type(await engine.receive()) for _ in range(2)] == [Submit, Abandon]


async def results(ends: dict[int, Any], pending: dict[int, Pending], *, per_item: bool) -> list[InputResult]:
    await all_settled(pending.values(), per_item=per_item)
    return results_of(ends, pending, per_item=per_item)


async def test_who_waits_for_many_hears_at_once_of_the_first_that_fails(stage: Stage) -> None:
    await stage.connect()
    for num_answered in (0, 1, 3):
        pending = dict(enumerate(stage.client.submit([(prompt(), ())] * 4, ASKS)))
        ends = {index: prompt() for index in pending}
        waiting = asyncio.create_task(results(ends, pending, per_item=False))
        await asyncio.sleep(0)
        ids = [one.request.id for one in pending.values()]
        stage.client.receive(StepDone(blocks=blocks_of([vector(id_) for id_ in ids[:num_answered]])))
        failure = Failure(id=ids[3], code="internal_error", message="the engine failed on this input")
        stage.client.receive(StepDone(failures=[failure]))
        with pytest.raises(ModelError, match="failed on this input") as caught:
            await waiting
        assert caught.value.index == 3


async def test_who_waits_for_many_by_item_hears_of_all_in_order(stage: Stage) -> None:
    await stage.connect()
    pending = dict(enumerate(stage.client.submit([(prompt(), ())] * 4, ASKS)))
    early = ModelError("internal_error", "it has no prompt")
    waiting = asyncio.create_task(results({9: early} | {i: prompt() for i in pending}, pending, per_item=True))
    await asyncio.sleep(0)
    ids = [one.request.id for one in pending.values()]
    failure = Failure(id=ids[1], code="internal_error", message="the engine failed on this input")
    stage.client.receive(StepDone(failures=[failure]))
    assert not waiting.done()
    for id_ in (ids[3], ids[0], ids[2]):
        await asyncio.sleep(0)
        stage.client.receive(StepDone(blocks=blocks_of([vector(id_)])))
    first, *others = await waiting
    assert first is early
    assert [one.index if isinstance(one, ModelError) else one.vector.id for one in others] == [ids[0], 1, *ids[2:]]
