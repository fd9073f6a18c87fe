"""Slots and futures between front and engine: the other end of a real socket pair is played step by step."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from service.decode.image_decoder import ThreadDecoder
from service.engine_series import EngineSeries
from service.errors import ModelError, UnavailableError
from service.front.admission.queue_rate import QueueRate
from service.front.engine_client.client import MAX_UNSENT, EngineClient
from service.front.engine_client.local_engine import LocalEngine, _results
from service.front.engine_client.pending import Pending
from service.front.engine_client.pixel_loader import PixelLoader
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import (
    Abandon,
    EngineMessage,
    Failure,
    FrontMessage,
    OutputSpec,
    Pixels,
    StepDone,
    StepStarted,
    Submit,
    Vector,
    WantPixels,
)
from service.ipc.reports import CacheReport
from service.media.image.decode import load_pixels
from service.media.image.image_file import ImageFile
from service.media.resize.image_rule import PixelRule
from service.prompt.prompt import Placeholder, Prompt
from tests.builders import image_file, noise

RULE = PixelRule(factor=32, min_pixels=4096, max_pixels=1_843_200, max_aspect=200)
OUTPUT = OutputSpec(dimensions=8)
CACHE = CacheReport(num_entries=0, num_bytes=0, num_evictions=0)


def item(seed: int) -> ImageFile:
    return image_file(noise(64, 64, seed), RULE)


def prompt(*items: ImageFile) -> Prompt:
    places = tuple(Placeholder(i * 4, 4, one.grid_thw, one) for i, one in enumerate(items))
    return Prompt([1] * (4 * len(items) + 1), places, truncated=False)


class Stage:
    """A client, its arena, and the engine's end of the line."""

    def __init__(self) -> None:
        self.arena = PixelArena(1 << 20)
        self.loader = PixelLoader(
            self.arena, b"model", ThreadDecoder(num_threads=1, max_bytes=1 << 30, deadline_s=60), num_threads=1
        )
        self.client = EngineClient(self.arena, self.loader, QueueRate(), EngineSeries("tiny"))

    def check_open(self, *, is_probe: bool = False) -> None:
        LocalEngine.check_open(cast(LocalEngine, SimpleNamespace(_client=self.client)), is_probe=is_probe)

    async def connect(self) -> AsyncChannel[FrontMessage]:
        ours, theirs = socket.socketpair()
        self.client.attach(await AsyncChannel.over(ours, EngineMessage))
        self.client.open()
        return await AsyncChannel.over(theirs, FrontMessage)

    async def submit(self, *items: ImageFile) -> Pending:
        loaded = await self.loader.load(items)
        (pending,) = self.client.submit([(prompt(*items), [loaded.take(one) for one in items])], OUTPUT)
        return pending


def played(story: Callable[[Stage], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        asyncio.run(asyncio.wait_for(story(Stage()), 20))  # type: ignore[arg-type]

    test.__name__ = story.__name__
    return test


def vector(id_: int) -> Vector:
    return Vector(id=id_, rows={"float32": b"\0" * 32}, num_hits=0, num_misses=1, queue_ms=0.0, inference_ms=1.0)


def entered(number: int, *submitted: Pending) -> StepStarted:
    ids = [pending.request.id for pending in submitted]
    return StepStarted(number=number, kind="forward", num_tokens=1, ids=ids, began_s=0.0)


@played
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
    stage.client.announced(entered(1, pending))
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await pending.future
    assert stage.arena.num_bytes_taken == item(2).num_slot_bytes
    assert bytes(stage.arena.view(next_owner.slot)) == load_pixels(item(2)).tobytes()


@played
async def test_slots_of_the_abandoned_come_back_from_the_engine_or_with_its_end(stage: Stage) -> None:
    engine = await stage.connect()
    submitted = [await stage.submit(item(1)), await stage.submit(item(2))]
    stage.client.abandon(submitted)
    assert [type(await engine.receive()) for _ in range(3)] == [Submit, Submit, Abandon]
    assert stage.arena.num_bytes_taken == 2 * item(1).num_slot_bytes  # the engine may still read them
    stage.client.detach()
    assert stage.arena.num_bytes_taken == 0


@played
async def test_a_late_answer_to_the_abandoned_is_passed_over(stage: Stage) -> None:
    await stage.connect()
    pending = await stage.submit()
    stage.client.abandon([pending])
    stage.client.receive(StepDone(vectors=[vector(pending.request.id)]))
    assert pending.future.cancelled()


@played
async def test_an_answer_to_who_was_cancelled_in_the_same_turn_is_passed_over(stage: Stage) -> None:
    await stage.connect()
    gone, other = await stage.submit(), await stage.submit()
    waiting = asyncio.create_task(_wait_for(gone))
    await asyncio.sleep(0)
    waiting.cancel()  # its `finally`, which abandons, has not run yet
    stage.client.receive(StepDone(vectors=[vector(gone.request.id), vector(other.request.id)]))
    assert (await other.future).id == other.request.id


async def _wait_for(pending: Pending) -> None:
    await pending.future


@played
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
    stage.client.receive(StepDone(vectors=[vector(again.request.id)], released=[sent.slot.start]))
    assert (await again.future).id == again.request.id


@played
async def test_pixels_decoded_for_an_engine_that_has_gone_are_given_back(stage: Stage) -> None:
    engine = await stage.connect()
    await stage.submit(item(1))
    submitted: Any = await engine.receive()
    stage.client.receive(WantPixels(keys=[submitted.requests[0].media[0].key]))
    stage.client.detach()
    while stage.client._tasks:
        await asyncio.sleep(0.01)
    assert stage.arena.num_bytes_taken == 0


@played
async def test_each_answer_finds_its_own_question(stage: Stage) -> None:
    await stage.connect()
    submitted = [await stage.submit() for _ in range(20)]
    failures = [Failure(id=submitted[3].request.id, code="internal_error", message="the engine failed on this input")]
    answered = [vector(pending.request.id) for pending in reversed(submitted) if pending is not submitted[3]]
    stage.client.receive(StepDone(vectors=answered, failures=failures))
    for pending in submitted:
        if pending is submitted[3]:
            with pytest.raises(ModelError, match="failed on this input"):
                await pending.future
        else:
            assert (await pending.future).id == pending.request.id


@played
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


@played
async def test_a_submit_without_an_engine_gives_its_slots_back(stage: Stage) -> None:
    loaded = [(await stage.loader.load([item(1)])).take(item(1))]
    with pytest.raises(UnavailableError):
        stage.client.submit([(prompt(item(1)), loaded)], OUTPUT)
    assert stage.arena.num_bytes_taken == 0


@played
async def test_what_is_submitted_in_one_turn_of_the_loop_goes_in_one_message(stage: Stage) -> None:
    engine = await stage.connect()
    ids = [pending.request.id for _ in range(3) for pending in stage.client.submit([(prompt(), ())] * 2, OUTPUT)]
    assert [request.id for request in (await next_submit(engine)).requests] == ids
    many = stage.client.submit([(prompt(), ())] * MAX_UNSENT, OUTPUT)
    few = stage.client.submit([(prompt(), ())], OUTPUT)
    assert len((await next_submit(engine)).requests) == len(many)  # a batch by itself waits for no others
    assert [request.id for request in (await next_submit(engine)).requests] == [few[0].request.id]


@played
async def test_requests_that_were_never_sent_are_sent_once_to_the_next_engine(stage: Stage) -> None:
    await stage.connect()
    (pending,) = stage.client.submit([(prompt(), ())], OUTPUT)
    stage.client.detach()
    engine = await stage.connect()
    assert [request.id for request in (await next_submit(engine)).requests] == [pending.request.id]
    stage.client.abandon([pending])
    assert isinstance(await engine.receive(), Abandon)


@played
async def test_the_abandoned_of_the_same_turn_are_known_to_the_engine(stage: Stage) -> None:
    engine = await stage.connect()
    submitted = stage.client.submit([(prompt(), ())], OUTPUT)
    stage.client.abandon(submitted)
    assert [type(await engine.receive()) for _ in range(2)] == [Submit, Abandon]


@played
async def test_who_waits_for_many_hears_at_once_of_the_first_that_fails(stage: Stage) -> None:
    await stage.connect()
    for num_answered in (0, 1, 3):
        pending = dict(enumerate(stage.client.submit([(prompt(), ())] * 4, OUTPUT)))
        ends = {index: prompt() for index in pending}
        waiting = asyncio.create_task(_results(ends, pending, per_item=False))
        await asyncio.sleep(0)
        ids = [one.request.id for one in pending.values()]
        stage.client.receive(StepDone(vectors=[vector(id_) for id_ in ids[:num_answered]]))
        failure = Failure(id=ids[3], code="internal_error", message="the engine failed on this input")
        stage.client.receive(StepDone(failures=[failure]))
        with pytest.raises(ModelError, match="failed on this input") as caught:
            await waiting
        assert caught.value.index == 3


@played
async def test_who_waits_for_many_by_item_hears_of_all_in_order(stage: Stage) -> None:
    await stage.connect()
    pending = dict(enumerate(stage.client.submit([(prompt(), ())] * 4, OUTPUT)))
    early = ModelError("internal_error", "it has no prompt")
    waiting = asyncio.create_task(_results({9: early} | {i: prompt() for i in pending}, pending, per_item=True))
    await asyncio.sleep(0)
    ids = [one.request.id for one in pending.values()]
    failure = Failure(id=ids[1], code="internal_error", message="the engine failed on this input")
    stage.client.receive(StepDone(failures=[failure]))
    assert not waiting.done()
    for id_ in (ids[3], ids[0], ids[2]):
        await asyncio.sleep(0)
        stage.client.receive(StepDone(vectors=[vector(id_)]))
    first, *others = await waiting
    assert first is early
    assert [one.index if isinstance(one, ModelError) else one.vector.id for one in others] == [ids[0], 1, *ids[2:]]


async def next_submit(engine: AsyncChannel[FrontMessage]) -> Submit:
    message = await engine.receive()
    assert isinstance(message, Submit)
    return message


@played
async def test_running_requests_fail_and_waiting_ones_are_sent_to_the_next_engine_once(stage: Stage) -> None:
    await stage.connect()
    running, waiting = await stage.submit(item(1)), await stage.submit(item(2))
    stage.client.announced(entered(1, running))
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await running.future
    engine = await stage.connect()
    (again,) = (await next_submit(engine)).requests
    assert (again.id, again.media[0].slot, again.alone) == (waiting.request.id, None, False)
    stage.client.receive(WantPixels(keys=[again.media[0].key]))
    sent = await engine.receive()
    assert isinstance(sent, Pixels)
    assert bytes(stage.arena.view(sent.slot)) == load_pixels(item(2)).tobytes()
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await waiting.future
    assert stage.arena.num_bytes_taken == 0


@played
async def test_who_was_in_a_step_that_is_over_was_not_running(stage: Stage) -> None:
    """His image was encoded; he waited for the forward when the engine ended."""
    await stage.connect()
    pending = await stage.submit(item(1))
    stage.client.receive(StepDone(after=1))
    stage.client.announced(entered(1, pending))  # read after the answer to it
    stage.client.detach()
    assert not pending.future.done()
    engine = await stage.connect()
    (again,) = (await next_submit(engine)).requests
    assert (again.id, again.alone) == (pending.request.id, False)
    stage.client.announced(entered(1, pending))  # each engine counts from 1
    stage.client.detach()
    with pytest.raises(UnavailableError, match="restarting"):
        await pending.future


@played
async def test_requests_that_wait_for_the_next_engine_fail_when_none_comes(stage: Stage) -> None:
    await stage.connect()
    pending = await stage.submit()
    stage.client.detach()
    assert not pending.future.done()
    stage.client.give_up()
    with pytest.raises(UnavailableError, match="restarting"):
        await pending.future


@played
async def test_an_input_that_engines_die_of_runs_alone_and_then_not_at_all(stage: Stage) -> None:
    alone = []
    for _ in range(3):
        engine = await stage.connect()
        pending = await stage.submit()
        alone.append((await next_submit(engine)).requests[0].alone)
        stage.client.announced(entered(1, pending))
        stage.client.detach()
        with pytest.raises(UnavailableError):
            await pending.future
    assert alone == [False, True, True]
    await stage.connect()
    with pytest.raises(ModelError, match="the engine ended each time"):
        await (await stage.submit()).future


@played
async def test_a_request_with_an_input_that_engines_die_of_can_be_abandoned_while_it_is_sent(stage: Stage) -> None:
    for _ in range(3):
        await stage.connect()
        stage.client.announced(entered(1, await stage.submit()))
        stage.client.detach()
    engine = await stage.connect()
    others, deadly = Prompt([2], (), truncated=False), prompt()
    prompts = [deadly if i in (3, MAX_UNSENT + 30) else others for i in range(MAX_UNSENT + 40)]
    submitted = stage.client.submit([(one, ()) for one in prompts], OUTPUT)
    assert [i for i, one in enumerate(submitted) if one.future.done()] == [3]
    stage.client.abandon(submitted)
    sent = [await engine.receive() for _ in range(3)]
    assert [type(one) for one in sent] == [Submit, Submit, Abandon]
    assert sum(len(one.requests) for one in sent if isinstance(one, Submit)) == len(prompts) - 2
    assert isinstance(sent[2], Abandon)
    assert set(sent[2].ids) == {one.request.id for one in submitted} - {submitted[3].request.id}


@played
async def test_a_suspect_that_is_answered_is_one_no_more(stage: Stage) -> None:
    engine = await stage.connect()
    pending = await stage.submit()
    stage.client.announced(entered(1, pending))
    stage.client.detach()
    engine = await stage.connect()
    suspect = await stage.submit()
    assert (await next_submit(engine)).requests[0].alone
    stage.client.receive(StepDone(vectors=[vector(suspect.request.id)]))
    await stage.submit()
    assert not (await next_submit(engine)).requests[0].alone


@played
async def test_one_end_of_an_engine_is_one_strike_however_many_asked_for_the_same(stage: Stage) -> None:
    await stage.connect()
    same = [await stage.submit() for _ in range(4)]
    stage.client.announced(entered(1, *same))
    stage.client.detach()
    for pending in same:
        with pytest.raises(UnavailableError):
            await pending.future
    engine = await stage.connect()
    await stage.submit()
    (again,) = (await next_submit(engine)).requests
    assert again.alone
