"""The engine's loop with a runner that can be told to fail: a failure stays with the request that caused it."""

import queue
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from service.engine.cache.look_ups import LookUps
from service.engine.cache.looked_up import LookedUp
from service.engine.encoder_cache import EncoderCache
from service.engine.loop import EngineLoop
from service.engine.result_cache import ResultCache
from service.engine.row_length import BITS
from service.engine.scheduler import Scheduler
from service.ipc.messages import (
    Abandon,
    FeaturesSpec,
    Media,
    OutputSpec,
    Ping,
    PixelSlot,
    Pong,
    Request,
    StepDone,
    StepStarted,
    Submit,
    WantPixels,
)
from service.ipc.reports import TierReport

POISON, NOT_FINITE, SHORT = 666, 667, 668
UNFINISHED = OutputSpec(dimensions=24)
NO_MEMORY = ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.", "out of memory")


class TroubledRunner:
    """Answers each request with its first token id, and stumbles over two of them as a real model would."""

    no_memory: Exception = RuntimeError(NO_MEMORY[0])

    def __init__(self) -> None:
        self.num_batches = 0
        self.num_freed = 0
        self.max_tokens = 10**9
        self.is_device_broken = False

    def encode(self, slot: PixelSlot, grid_thw: tuple[int, int, int]) -> Any:
        if slot.start == POISON:
            raise RuntimeError("poisoned picture")
        return np.zeros(4)

    def read_features(self, slot: PixelSlot, media: Media) -> Any:
        return self.encode(slot, media.grid_thw)

    def write_features(self, features: Any, dtype: str) -> bytes | None:
        if dtype == "float16":
            return None
        if dtype == "bfloat16":
            raise RuntimeError("poisoned features")
        return features.tobytes()

    def check_alive(self) -> None:
        if self.is_device_broken:
            raise RuntimeError("the device is lost")

    def free_memory(self) -> None:
        self.num_freed += 1

    def embed(self, batch: list[Any]) -> torch.Tensor:
        self.num_batches += 1
        first = [waiting.request.token_ids[0] for waiting in batch]
        if len(batch) > self.max_tokens:
            raise self.no_memory
        if POISON in first:
            raise RuntimeError("poisoned batch")
        return torch.tensor(first)

    def finish(self, raw: torch.Tensor, requests: list[Request]) -> list[dict[str, bytes] | None]:
        if any(request.output == UNFINISHED for request in requests):
            raise RuntimeError("a kernel that does not know this length")
        return [self._row(int(first), request) for first, request in zip(raw, requests, strict=True)]

    def to_keep(self, raw: torch.Tensor) -> list[bytes | None]:
        return [None if first == NOT_FINITE else int(first).to_bytes(2, "big") for first in raw]

    def kept(self, vectors: list[bytes]) -> torch.Tensor:
        return torch.tensor([int.from_bytes(vector, "big") for vector in vectors])

    def _row(self, first: int, request: Request) -> dict[str, bytes] | None:
        assert isinstance(request.output, OutputSpec)
        kinds, dimensions = request.output.kinds, request.output.dimensions - (first == SHORT)
        if first == NOT_FINITE or "float16" in kinds:  # as if the raw vector were more than float16 can hold
            return None
        return {kind: bytes([first % 256]) * (dimensions * BITS[kind] // 8) for kind in kinds}


@pytest.fixture
def engine() -> tuple[EngineLoop, "queue.SimpleQueue[Any]", list[Any], TroubledRunner]:
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sent: list[Any] = []
    scheduler: Scheduler[Any] = Scheduler(
        EncoderCache(1000), max_batch_tokens=1000, max_batch_requests=64, max_encoder_tokens=100
    )
    runner = TroubledRunner()
    return EngineLoop(sent.append, inbox, scheduler, runner), inbox, sent, runner  # type: ignore[arg-type]


def steps(sent: list[Any]) -> list[StepDone]:
    return [message for message in sent if isinstance(message, StepDone)]


def request(id_: int, token: int, *media: Media) -> Request:
    return Request(id=id_, token_ids=[token], media=media, output=OutputSpec(dimensions=8))


def picture(key: bytes, start: int | None) -> Media:
    slot = None if start is None else PixelSlot(start, 1)
    return Media(key=key, grid_thw=(1, 2, 2), offset=0, num_tokens=1, slot=slot)


def test_poison_fails_alone_and_everyone_else_gets_his_own_answer(engine: Any) -> None:
    loop, inbox, sent, runner = engine
    tokens = [*range(1, 15), POISON, *range(15, 31), NOT_FINITE]
    inbox.put(Submit(requests=[request(100 + i, token) for i, token in enumerate(tokens)]))
    loop.turn()
    (step,) = steps(sent)
    assert {vector.id: vector.rows["float32"][0] for vector in step.vectors} == {
        100 + i: token for i, token in enumerate(tokens) if token < POISON
    }
    assert {failure.id: failure.code for failure in step.failures} == {
        100 + tokens.index(POISON): "internal_error",
        100 + tokens.index(NOT_FINITE): "non_finite_embedding",
    }
    assert runner.num_batches <= 2 * 5 + 1  # halves of 32, not one by one


def test_a_poisoned_picture_fails_those_who_sent_it(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    both = [picture(b"good", 8), picture(b"bad", 9)]
    inbox.put(
        Submit(
            requests=[request(1, 1, picture(b"bad", POISON)), request(2, 2, picture(b"good", 7)), request(3, 3, *both)]
        )
    )
    loop.turn()
    loop.turn()
    encode, language = steps(sent)
    assert sorted(failure.id for failure in encode.failures) == [1, 3]
    assert sorted(encode.released) == [7, 8, 9, POISON]  # every slot comes back, read or not
    assert [vector.id for vector in language.vectors] == [2]


def test_missing_pixels_are_asked_for_and_abandoned_slots_come_back(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    inbox.put(Submit(requests=[request(1, 1, picture(b"a", None)), request(2, 2, picture(b"b", 9))]))
    inbox.put(Abandon(ids=[2]))
    inbox.put(Submit(requests=[request(3, 3)]))
    loop.turn()
    assert isinstance(sent[0], WantPixels)
    assert sent[0].keys == [b"a"]
    (done,) = steps(sent)
    assert done.released == [9]
    assert [vector.id for vector in done.vectors] == [3]


@pytest.mark.parametrize("max_encoder_tokens", [1, 100])
def test_a_request_whose_first_picture_fails_gives_all_its_slots_back_and_harms_nobody(
    engine: Any, max_encoder_tokens: int
) -> None:
    loop, inbox, sent, _ = engine
    loop._scheduler.max_encoder_tokens = max_encoder_tokens
    inbox.put(Submit(requests=[request(1, 1, picture(b"bad", POISON), picture(b"other", 7)), request(2, 2)]))
    loop.turn()
    loop.turn()
    assert [failure.id for step in steps(sent) for failure in step.failures] == [1]
    assert sorted(start for step in steps(sent) for start in step.released) == [7, POISON]
    assert [vector.id for step in steps(sent) for vector in step.vectors] == [2]


def test_a_device_that_is_lost_ends_the_engine_instead_of_failing_for_ever(engine: Any) -> None:
    loop, inbox, _, runner = engine
    runner.is_device_broken = True
    inbox.put(Submit(requests=[request(1, POISON)]))
    with pytest.raises(RuntimeError, match="the device is lost"):
        loop.turn()


def test_features_are_answered_with_their_key_and_a_failure_stays_with_its_request(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    formats = {1: "float32", 2: "float16", 3: "bfloat16"}
    media = {id_: picture(bytes([id_]), id_) for id_ in formats}
    inbox.put(
        Submit(
            requests=[
                Request(id=id_, token_ids=[0], media=(media[id_],), output=FeaturesSpec(dtype=dtype))  # type: ignore[arg-type]
                for id_, dtype in formats.items()
            ]
        )
    )
    for _ in range(4):
        loop.turn()
    (vector,) = [vector for step in steps(sent) for vector in step.vectors]
    assert (vector.id, vector.key, vector.rows) == (1, b"\x01", {"float32": np.zeros(4).tobytes()})
    failures = {failure.id: failure for step in steps(sent) for failure in step.failures}
    assert (failures[2].code, failures[3].code) == ("non_finite_embedding", "internal_error")
    assert "ask for float32" in failures[2].message
    assert sorted(start for step in steps(sent) for start in step.released) == [1, 2, 3]


def test_features_that_were_sent_are_no_run_of_the_tower(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    came = Media(key=b"f", grid_thw=(1, 2, 2), offset=0, num_tokens=1, dtype="float16", slot=PixelSlot(4, 1))
    inbox.put(Submit(requests=[request(1, 1, came, picture(b"p", 5))]))
    loop.turn()
    loop.turn()
    assert [step.num_encoded for step in steps(sent)] == [1, 0]
    assert sorted(steps(sent)[0].released) == [4, 5]
    (vector,) = steps(sent)[1].vectors
    assert (vector.num_hits, vector.num_misses) == (0, 1)


def submit(engine: Any, *requests: Request) -> StepDone:
    """What the engine answers to requests that come together and have no pictures."""
    loop, inbox, sent, _ = engine
    sent.clear()
    inbox.put(Submit(requests=list(requests)))
    loop.turn()
    (step,) = steps(sent)
    return step


def test_what_failed_by_itself_is_not_run_again_for_a_while_whoever_sends_it(engine: Any) -> None:
    runner = engine[3]
    first = submit(engine, request(1, POISON), request(2, 2))
    num_batches = runner.num_batches
    again = submit(engine, request(3, POISON), request(4, 2))
    assert runner.num_batches == num_batches + 1  # the other one, at the first try
    assert [failure.id for failure in (*first.failures, *again.failures)] == [1, 3]
    assert [vector.id for vector in again.vectors] == [4]


@pytest.mark.parametrize(
    "error",
    [RuntimeError(NO_MEMORY[0]), MemoryError(), torch.OutOfMemoryError(NO_MEMORY[1])],
    ids=["cpu", "py", "cuda"],
)
def test_a_batch_without_memory_is_halved_until_it_fits_and_smaller_ones_follow(engine: Any, error: Exception) -> None:
    loop, runner = engine[0], engine[3]
    runner.max_tokens, runner.no_memory = 5, error
    step = submit(engine, *[request(i, i) for i in range(1, 33)])
    assert {vector.id: vector.rows["float32"][0] for vector in step.vectors} == {i: i for i in range(1, 33)}
    assert not step.failures
    assert runner.num_freed == 7  # 32, twice 16, four times 8
    assert loop._scheduler.max_batch_tokens == 15  # the floor of 1000
    num_batches = runner.num_batches
    step = submit(engine, *[request(100 + i, i) for i in range(1, 5)])
    assert (len(step.vectors), runner.num_batches) == (4, num_batches + 1)


def test_what_has_no_memory_even_alone_is_told_to_come_again(engine: Any) -> None:
    runner = engine[3]
    runner.max_tokens = 0
    step = submit(engine, request(1, 1))
    assert [(failure.id, failure.code) for failure in step.failures] == [(1, "out_of_memory")]
    runner.max_tokens = 1
    assert [vector.id for vector in submit(engine, request(2, 1)).vectors] == [2]  # and it may


def test_a_vector_of_another_length_is_an_error_and_no_vector(engine: Any) -> None:
    step = submit(engine, request(1, SHORT))
    assert [(failure.id, failure.code) for failure in step.failures] == [(1, "internal_error")]
    assert not step.vectors


def test_every_run_of_the_model_is_announced_with_those_in_it(engine: Any) -> None:
    _, inbox, sent, _ = engine
    submit(engine, request(1, 1), request(2, POISON))
    announced = [(message.kind, message.ids) for message in sent if isinstance(message, StepStarted)]
    assert announced == [("language", [1, 2]), ("language", [1]), ("language", [2])]
    inbox.put(Submit(requests=[request(3, 3, picture(b"p", 5))]))
    sent.clear()
    engine[0].turn()
    assert [(message.kind, message.ids) for message in sent if isinstance(message, StepStarted)] == [("encode", [3])]


def test_a_suspect_runs_alone(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    suspect = msgspec.structs.replace(request(2, 2), alone=True)
    inbox.put(Submit(requests=[request(1, 1), suspect, request(3, 3)]))
    for _ in range(3):
        loop.turn()
    assert [[vector.id for vector in step.vectors] for step in steps(sent)] == [[1], [2], [3]]


def test_a_sign_of_life_is_given(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    inbox.put(Ping())
    inbox.put(Submit(requests=[request(1, 1)]))  # without work a turn waits for the next message
    loop.turn()
    assert any(isinstance(message, Pong) for message in sent)


def wants(id_: int, token: int, **output: Any) -> Request:
    return Request(id=id_, token_ids=[token], output=OutputSpec(**({"dimensions": 8} | output)))


def test_twins_run_once_and_each_gets_what_he_asked_for(engine: Any) -> None:
    runner, sent = engine[3], engine[2]
    formats = ("bfloat16", "float32")
    step = submit(engine, wants(1, 5), wants(2, 5, dimensions=16), wants(3, 5, kinds=formats), wants(4, 6))
    assert {vector.id: {kind: len(row) for kind, row in vector.rows.items()} for vector in step.vectors} == {
        1: {"float32": 32}, 2: {"float32": 64}, 3: {"bfloat16": 16, "float32": 32}, 4: {"float32": 32}
    }  # fmt: skip
    assert [vector.rows["float32"][0] for vector in step.vectors] == [5, 5, 5, 6]
    assert (runner.num_batches, step.num_tokens, step.results.num_deduplicated) == (1, 2, 2)
    assert sent[0] == StepStarted(kind="language", num_tokens=2, ids=[1, 2, 3, 4])


def test_a_prompt_that_fails_fails_all_who_asked_for_it_and_a_format_that_fails_fails_one(engine: Any) -> None:
    asked = [wants(1, 5), wants(2, 5, kinds=("float16",)), wants(3, POISON), wants(4, POISON, dimensions=16)]
    step = submit(engine, *asked, wants(5, NOT_FINITE), wants(6, NOT_FINITE), wants(7, 6))
    assert [vector.id for vector in step.vectors] == [1, 7]
    assert {failure.id: failure.code for failure in step.failures} == {
        2: "non_finite_embedding",
        3: "internal_error",
        4: "internal_error",
        5: "non_finite_embedding",
        6: "non_finite_embedding",
    }


def test_an_epilogue_that_raises_for_one_request_leaves_its_twins_and_the_batch_alone(engine: Any) -> None:
    runner = engine[3]
    unfinished = UNFINISHED.dimensions
    step = submit(engine, wants(1, 5), wants(2, 5, dimensions=unfinished), wants(3, 6), wants(4, 6))
    assert [(failure.id, failure.code) for failure in step.failures] == [(2, "internal_error")]
    assert [(vector.id, vector.rows["float32"][0]) for vector in step.vectors] == [(1, 5), (3, 6), (4, 6)]
    assert runner.num_batches == 1  # the model did its part
    assert [vector.id for vector in submit(engine, wants(5, 5)).vectors] == [5]  # and the prompt is not to blame


@pytest.fixture
def keeping(engine: Any) -> Any:
    """The same with a result cache."""
    _, inbox, sent, runner = engine
    results = ResultCache(1 << 20)
    scheduler: Scheduler[Any] = Scheduler(
        EncoderCache(1000), results, max_batch_tokens=1000, max_batch_requests=64, max_encoder_tokens=100
    )
    return EngineLoop(sent.append, inbox, scheduler, runner), inbox, sent, runner


def test_a_prompt_that_comes_again_is_answered_without_the_model(keeping: Any) -> None:
    loop, inbox, sent, runner = keeping
    first = submit(keeping, wants(1, 5), wants(2, 6))
    assert (first.results.num_misses, first.results.num_entries) == (2, 2)
    sent.clear()
    inbox.put(Submit(requests=[wants(3, 5, dimensions=16), wants(4, 7), wants(5, 6), wants(6, 5, kinds=("float16",))]))
    loop.turn()
    known, language = steps(sent)
    assert {vector.id: vector.rows["float32"] for vector in known.vectors} == {3: b"\5" * 64, 5: b"\6" * 32}
    assert [(failure.id, failure.code) for failure in known.failures] == [(6, "non_finite_embedding")]
    assert (known.num_tokens, known.results.num_hits, known.results.num_misses) == (0, 3, 1)
    assert [vector.id for vector in language.vectors] == [4]
    assert (runner.num_batches, language.results.num_hits) == (2, 0)  # each is reported once


def test_a_failure_is_never_kept(keeping: Any) -> None:
    runner = keeping[3]
    submit(keeping, wants(1, NOT_FINITE), wants(2, POISON), wants(3, 5))
    num_batches = runner.num_batches
    again = submit(keeping, wants(4, NOT_FINITE))
    assert [failure.id for failure in again.failures] == [4]
    assert runner.num_batches == num_batches + 1
    assert again.results.num_entries == 1


def test_more_known_prompts_than_a_step_takes_are_all_answered_before_the_next_step(keeping: Any) -> None:
    loop, inbox, sent, _ = keeping
    submit(keeping, wants(0, 5))
    sent.clear()
    inbox.put(Submit(requests=[wants(i, 5) for i in range(1, 151)]))
    inbox.put(Submit(requests=[wants(200, 6)]))
    loop.turn()
    assert [len(step.vectors) for step in steps(sent)] == [64, 64, 22, 1]
    assert [vector.id for step in steps(sent) for vector in step.vectors] == [*range(1, 151), 200]


class SlowTiers:
    """Shared tiers that answer when they are told to, in this thread."""

    def __init__(self, inbox: "queue.SimpleQueue[Any]") -> None:
        self.inbox = inbox
        self.asked: list[bytes] = []
        self.offered: list[bytes] = []

    def ask(self, media: Media) -> bool:
        self.asked.append(media.key)
        return True

    def offer(self, key: bytes, features: Any, num_bytes: int) -> None:
        assert num_bytes == features.nbytes
        self.offered.append(key)

    def reports(self) -> tuple[TierReport, ...]:
        return (TierReport(tier="disk", num_hits=7),)

    def answer(self, key: bytes, features: Any) -> None:
        self.inbox.put(LookedUp(key, features))


@pytest.fixture
def with_tiers() -> tuple[EngineLoop, SlowTiers, list[Any]]:
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sent: list[Any] = []
    tiers = SlowTiers(inbox)
    look_ups = LookUps(tiers.ask, 100)
    assert not look_ups.ask(picture(b"the known question's", None))  # never looked up
    scheduler: Scheduler[Any] = Scheduler(
        EncoderCache(1000),
        max_batch_tokens=1000,
        max_batch_requests=64,
        max_encoder_tokens=100,
        look_up=look_ups.ask,
    )
    runner: Any = TroubledRunner()
    return EngineLoop(sent.append, inbox, scheduler, runner, tiers, look_ups), tiers, sent  # type: ignore[arg-type]


def test_a_picture_that_a_shared_tier_has_is_not_encoded_and_is_a_hit(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    tiers.inbox.put(Submit(requests=[request(1, 1, picture(b"a", 5)), request(2, 2)]))
    loop.turn()  # text does not wait for it
    assert tiers.asked == [b"a"]
    assert [vector.id for step in steps(sent) for vector in step.vectors] == [2]
    tiers.answer(b"a", np.zeros(4))
    loop.turn()
    (vector,) = steps(sent)[-1].vectors
    assert (vector.id, vector.num_hits, vector.num_misses) == (1, 1, 0)
    assert [start for step in steps(sent) for start in step.released] == [5]
    assert sum(step.num_encoded for step in steps(sent)) == 0
    assert tiers.offered == []
    assert [tier.tier for tier in steps(sent)[-1].cache.tiers] == ["device", "disk"]


def test_a_picture_that_no_shared_tier_has_is_encoded_and_offered_to_them(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    tiers.inbox.put(Submit(requests=[request(1, 1, picture(b"a", 5))]))
    tiers.answer(b"a", None)
    loop.turn()
    loop.turn()
    (vector,) = steps(sent)[-1].vectors
    assert (vector.id, vector.num_hits, vector.num_misses) == (1, 0, 1)
    assert tiers.offered == [b"a"]


def test_a_look_up_that_nobody_answers_ends_in_encoding_though_no_message_wakes_the_loop(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    tiers.inbox.put(Submit(requests=[request(1, 1, picture(b"a", 5))]))
    while not steps(sent) or not steps(sent)[-1].vectors:
        loop.turn()
    assert [vector.id for vector in steps(sent)[-1].vectors] == [1]
    tiers.answer(b"a", np.zeros(4))  # late: nobody waits any more
    tiers.inbox.put(Submit(requests=[request(2, 2)]))
    loop.turn()
    assert [vector.id for vector in steps(sent)[-1].vectors] == [2]


def test_features_that_clients_send_are_neither_looked_up_nor_offered(with_tiers: Any) -> None:
    loop, tiers, sent = with_tiers
    came = Media(key=b"f", grid_thw=(1, 2, 2), offset=0, num_tokens=1, dtype="float16", slot=PixelSlot(4, 1))
    tiers.inbox.put(Submit(requests=[request(1, 1, came)]))
    loop.turn()
    loop.turn()
    assert [vector.id for step in steps(sent) for vector in step.vectors] == [1]
    assert (tiers.asked, tiers.offered) == ([], [])
