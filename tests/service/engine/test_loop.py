"""The engine's loop with a runner that can be told to fail: a failure stays with the request that caused it."""

import time
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from service.ipc.messages import (
    Abandon,
    FeaturesSpec,
    Media,
    Ping,
    PixelSlot,
    Pong,
    Request,
    StepStarted,
    Submit,
    WantPixels,
)
from tests.service.engine.troubled_runner import NO_MEMORY, NOT_FINITE, POISON, SHORT, image, request, steps, submit


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


def test_a_poisoned_image_fails_those_who_sent_it(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    both = [image(b"good", 8), image(b"bad", 9)]
    inbox.put(
        Submit(requests=[request(1, 1, image(b"bad", POISON)), request(2, 2, image(b"good", 7)), request(3, 3, *both)])
    )
    loop.turn()
    loop.turn()
    encode, language = steps(sent)
    assert sorted(failure.id for failure in encode.failures) == [1, 3]
    assert sorted(encode.released) == [7, 8, 9, POISON]  # every slot comes back, read or not
    assert [vector.id for vector in language.vectors] == [2]


def test_missing_pixels_are_asked_for_and_abandoned_slots_come_back(engine: Any) -> None:
    loop, inbox, sent, _ = engine
    inbox.put(Submit(requests=[request(1, 1, image(b"a", None)), request(2, 2, image(b"b", 9))]))
    inbox.put(Abandon(ids=[2]))
    inbox.put(Submit(requests=[request(3, 3)]))
    loop.turn()
    assert isinstance(sent[0], WantPixels)
    assert sent[0].keys == [b"a"]
    (done,) = steps(sent)
    assert done.released == [9]
    assert [vector.id for vector in done.vectors] == [3]


@pytest.mark.parametrize("max_encoder_tokens", [1, 100])
def test_a_request_whose_first_image_fails_gives_all_its_slots_back_and_harms_nobody(
    engine: Any, max_encoder_tokens: int
) -> None:
    loop, inbox, sent, _ = engine
    loop._scheduler.max_encoder_tokens = max_encoder_tokens
    inbox.put(Submit(requests=[request(1, 1, image(b"bad", POISON), image(b"other", 7)), request(2, 2)]))
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
    media = {id_: image(bytes([id_]), id_) for id_ in formats}
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
    inbox.put(Submit(requests=[request(1, 1, came, image(b"p", 5))]))
    loop.turn()
    loop.turn()
    assert [step.num_encoded for step in steps(sent)] == [1, 0]
    assert sorted(steps(sent)[0].released) == [4, 5]
    (vector,) = steps(sent)[1].vectors
    assert (vector.num_hits, vector.num_misses) == (0, 1)


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
    assert loop._scheduler.ready.max_tokens == 15  # the floor of 1000
    num_batches = runner.num_batches
    step = submit(engine, *[request(100 + i, i) for i in range(1, 5)])
    assert (len(step.vectors), runner.num_batches) == (4, num_batches + 1)


def test_after_a_batch_without_memory_the_next_ones_are_smaller_from_the_start(engine: Any) -> None:
    loop, _inbox, sent, runner = engine
    runner.max_tokens = 20
    submit(engine, *[request(i, i) for i in range(1, 33)])
    assert loop._scheduler.ready.max_tokens == 16
    runner.num_freed, runner.num_batches = 0, 0
    submit(engine, *[request(100 + i, i) for i in range(1, 33)])
    loop.turn()
    assert (runner.num_batches, runner.num_freed) == (2, 0)
    assert [len(step.vectors) for step in steps(sent)] == [16, 16]


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
    assert announced == [("forward", [1, 2]), ("forward", [1]), ("forward", [2])]
    inbox.put(Submit(requests=[request(3, 3, image(b"p", 5))]))
    sent.clear()
    engine[0].turn()
    assert [(message.kind, message.ids) for message in sent if isinstance(message, StepStarted)] == [("encode", [3])]


def test_what_is_said_between_steps_says_which_step_is_over(engine: Any) -> None:
    _, inbox, sent, _ = engine
    submit(engine, request(1, 1))
    inbox.put(Ping())
    submit(engine, request(2, POISON), request(3, 3))
    numbers = [message.number if isinstance(message, StepStarted) else message.after for message in sent]
    assert numbers == [1, 2, 3, 4, 4]  # a pong behind the first step; a batch, its halves, their answer
    began_s = [message.began_s for message in sent if isinstance(message, StepStarted)]
    assert began_s == sorted(began_s)
    assert abs(time.monotonic() - began_s[-1]) < 60


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
