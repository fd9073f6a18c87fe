"""The engine's loop with a runner that fails on demand: a failure stays with the request that caused it."""

import threading
import time

import msgspec
import numpy as np
import pytest
import torch

from service.engine.scheduling.batch_delay import MAX_WAIT_S
from service.ipc.messages import Abandon, AreKept, AskKept, Ping, StepStarted, WantPixels
from service.ipc.prompt_digest import prompt_digest
from service.media.item import TensorDtype
from service.outputs.features import FeaturesAsk
from tests.builders import engine_request, media
from tests.service.engine.loop_rig import LoopRig, image, make_scheduler, request, vectors_of
from tests.service.engine.troubled_runner import NO_MEMORY, NOT_FINITE, POISON, SHORT, SPOILING


def test_poison_fails_alone_and_everyone_else_gets_his_own_answer(engine: LoopRig) -> None:
    tokens = [*range(1, 15), POISON, *range(15, 31), NOT_FINITE]
    engine.submit(*[request(100 + i, token) for i, token in enumerate(tokens)])
    engine.turn()
    (step,) = engine.steps
    assert {vector.id: vector.rows["float32"][0] for vector in vectors_of(step)} == {
        100 + i: token for i, token in enumerate(tokens) if token < POISON
    }
    assert {failure.id: failure.code for failure in step.failures} == {
        100 + tokens.index(POISON): "internal_error",
        100 + tokens.index(NOT_FINITE): "non_finite_embedding",
    }
    assert engine.runner.num_batches <= 2 * 5 + 1 + 1  # halves of 32, not one by one, and once more who has no vector


def test_a_poisoned_image_fails_those_who_sent_it(engine: LoopRig) -> None:
    both = [image(b"good", 8), image(b"bad", 9)]
    engine.submit(request(1, 1, image(b"bad", POISON)), request(2, 2, image(b"good", 7)), request(3, 3, *both))
    engine.turn(2)
    encode, language = engine.steps
    assert sorted(failure.id for failure in encode.failures) == [1, 3]
    assert sorted(encode.released) == [7, 8, 9, POISON]  # every slot comes back, read or not
    assert [vector.id for vector in vectors_of(language)] == [2]


def test_missing_pixels_are_asked_for_and_abandoned_slots_come_back(engine: LoopRig) -> None:
    engine.submit(request(1, 1, image(b"a", None)), request(2, 2, image(b"b", 9)))
    engine.inbox.put(Abandon(ids=[2]))
    engine.submit(request(3, 3))
    engine.turn()
    assert isinstance(engine.sent[0], WantPixels)
    assert engine.sent[0].keys == [b"a"]
    (done,) = engine.steps
    assert done.released == [9]
    assert [vector.id for vector in vectors_of(done)] == [3]


@pytest.mark.parametrize("max_encoder_tokens", [1, 100])
def test_a_request_whose_first_image_fails_gives_all_its_slots_back_and_harms_nobody(
    engine: LoopRig, max_encoder_tokens: int
) -> None:
    engine.scheduler.max_encoder_tokens = max_encoder_tokens
    engine.submit(request(1, 1, image(b"bad", POISON), image(b"other", 7)), request(2, 2))
    engine.turn(2)
    assert [failure.id for step in engine.steps for failure in step.failures] == [1]
    assert sorted(start for step in engine.steps for start in step.released) == [7, POISON]
    assert engine.answered == [2]


def test_a_device_that_is_lost_ends_the_engine_instead_of_failing_for_ever(engine: LoopRig) -> None:
    engine.runner.is_device_broken = True
    engine.submit(request(1, POISON))
    with pytest.raises(RuntimeError, match="the device is lost"):
        engine.turn()


def test_features_are_answered_with_their_key_and_a_failure_stays_with_its_request(engine: LoopRig) -> None:
    formats: dict[int, TensorDtype] = {1: "float32", 2: "float16", 3: "bfloat16"}
    for id_, dtype in formats.items():
        engine.submit(engine_request(id_, [0], image(bytes([id_]), id_), ask=FeaturesAsk(dtype=dtype, width=8)))
    engine.turn(4)
    (vector,) = [vector for step in engine.steps for vector in vectors_of(step)]
    assert (vector.id, vector.key, vector.rows) == (1, b"\x01", {"float32": np.zeros(4).tobytes()})
    failures = {failure.id: failure for step in engine.steps for failure in step.failures}
    assert (failures[2].code, failures[3].code) == ("non_finite_embedding", "internal_error")
    assert "ask for float32" in failures[2].message
    assert sorted(start for step in engine.steps for start in step.released) == [1, 2, 3]


def test_features_that_were_sent_are_no_run_of_the_tower(engine: LoopRig) -> None:
    came = media("f", 4, num_tokens=1, dtype="float16")
    engine.submit(request(1, 1, came, image(b"p", 5)))
    engine.turn(2)
    assert [step.num_encoded for step in engine.reports] == [1, 0]
    assert sorted(engine.steps[0].released) == [4, 5]
    (vector,) = vectors_of(engine.steps[1])
    assert (vector.num_hits, vector.num_misses) == (0, 1)


def test_what_failed_by_itself_is_not_run_again_for_a_while_whoever_sends_it(engine: LoopRig) -> None:
    first = engine.run(request(1, POISON), request(2, 2))
    num_batches = engine.runner.num_batches
    again = engine.run(request(3, POISON), request(4, 2))
    assert engine.runner.num_batches == num_batches + 1  # the other one, at the first try
    assert [failure.id for failure in (*first.failures, *again.failures)] == [1, 3]
    assert [vector.id for vector in vectors_of(again)] == [4]


@pytest.mark.parametrize(
    "error",
    [RuntimeError(NO_MEMORY[0]), MemoryError(), torch.OutOfMemoryError(NO_MEMORY[1])],
    ids=["cpu", "py", "cuda"],
)
def test_a_batch_without_memory_is_halved_until_it_fits_and_smaller_ones_follow(
    engine: LoopRig, error: Exception
) -> None:
    engine.runner.max_tokens, engine.runner.no_memory = 5, error
    step = engine.run(*[request(i, i) for i in range(1, 33)])
    assert {vector.id: vector.rows["float32"][0] for vector in vectors_of(step)} == {i: i for i in range(1, 33)}
    assert not step.failures
    assert engine.runner.num_freed == 7  # 32, twice 16, four times 8
    assert engine.scheduler.ready.max_tokens == 15  # the floor of 1000
    num_batches = engine.runner.num_batches
    step = engine.run(*[request(100 + i, i) for i in range(1, 5)])
    assert (len(vectors_of(step)), engine.runner.num_batches) == (4, num_batches + 1)


def test_after_a_batch_without_memory_the_next_ones_are_smaller_from_the_start(engine: LoopRig) -> None:
    engine.runner.max_tokens = 20
    engine.run(*[request(i, i) for i in range(1, 33)])
    assert engine.scheduler.ready.max_tokens == 16
    engine.runner.num_freed, engine.runner.num_batches = 0, 0
    engine.run(*[request(100 + i, i) for i in range(1, 33)])
    engine.turn()
    assert (engine.runner.num_batches, engine.runner.num_freed) == (2, 0)
    assert [len(vectors_of(step)) for step in engine.steps] == [16, 16]


def test_a_request_without_memory_even_alone_fails_with_out_of_memory(engine: LoopRig) -> None:
    engine.runner.max_tokens = 0
    step = engine.run(request(1, 1))
    assert [(failure.id, failure.code) for failure in step.failures] == [(1, "out_of_memory")]
    engine.runner.max_tokens = 1
    assert [vector.id for vector in vectors_of(engine.run(request(2, 1)))] == [2]  # and it may


def test_a_vector_of_another_length_is_an_error_and_no_vector(engine: LoopRig) -> None:
    step = engine.run(request(1, SHORT))
    assert [(failure.id, failure.code) for failure in step.failures] == [(1, "internal_error")]
    assert not vectors_of(step)


def test_who_has_no_vector_beside_others_is_run_alone(engine: LoopRig) -> None:
    step = engine.run(request(1, 5), request(2, SPOILING), request(3, 6))
    assert [(failure.id, failure.code) for failure in step.failures] == [(2, "non_finite_embedding")]
    assert [(vector.id, vector.rows["float32"][0]) for vector in vectors_of(step)] == [(1, 5), (3, 6)]
    assert [one.ids for one in engine.started] == [[1, 2, 3], [1], [2], [3]]


def test_every_run_of_the_model_is_announced_with_those_in_it(engine: LoopRig) -> None:
    engine.run(request(1, 1), request(2, POISON))
    announced = [(step.kind, step.ids) for step in engine.started]
    assert announced == [("forward", [1, 2]), ("forward", [1]), ("forward", [2])]
    engine.submit(request(3, 3, image(b"p", 5)))
    engine.sent.clear()
    engine.turn()
    assert [(step.kind, step.ids) for step in engine.started] == [("encode", [3])]


def test_what_is_said_between_steps_says_which_step_is_over(engine: LoopRig) -> None:
    engine.run(request(1, 1))
    engine.inbox.put(Ping())
    engine.run(request(2, POISON), request(3, 3))
    numbers = [message.number if isinstance(message, StepStarted) else message.after for message in engine.sent]
    assert numbers == [1, 2, 3, 4, 4]  # a pong after the first step; a batch, its halves, their answer
    began_s = [step.began_s for step in engine.started]
    assert began_s == sorted(began_s)
    assert abs(time.monotonic() - began_s[-1]) < 60


def test_a_suspect_runs_alone(engine: LoopRig) -> None:
    suspect = msgspec.structs.replace(request(2, 2), alone=True)
    engine.submit(request(1, 1), suspect, request(3, 3))
    engine.turn(3)
    assert [[vector.id for vector in vectors_of(step)] for step in engine.steps] == [[1], [2], [3]]


def test_which_vectors_are_kept_is_said_without_a_run() -> None:
    engine = LoopRig(make_scheduler(result_bytes=1 << 16))
    engine.run(request(1, 5))
    engine.sent.clear()
    digests = [prompt_digest(request(0, token)) for token in (5, 6)]
    engine.inbox.put(AskKept(id=7, digests=digests))
    engine.submit(request(2, 9))  # without work a turn waits for the next message
    engine.turn()
    (answer,) = (one for one in engine.sent if isinstance(one, AreKept))
    assert (answer.id, answer.are_kept) == (7, [True, False])


def test_a_forward_waits_a_moment_for_requests_that_come_back_together(engine: LoopRig) -> None:
    engine.scheduler.batch_delay.ended(num_answered=3, num_left=0, seconds=60.0, now_s=time.monotonic())
    engine.submit(request(1, 1), request(2, 2))
    threading.Timer(MAX_WAIT_S / 4, engine.submit, [request(3, 3)]).start()
    engine.turn()
    (step,) = engine.steps
    assert [vector.id for vector in vectors_of(step)] == [1, 2, 3]


def test_a_forward_waits_in_vain_no_longer_than_a_moment(engine: LoopRig) -> None:
    began_s = time.monotonic()
    engine.scheduler.batch_delay.ended(num_answered=3, num_left=0, seconds=60.0, now_s=began_s)
    engine.submit(request(1, 1))
    engine.turn()
    assert engine.answered == [1]
    assert time.monotonic() - began_s >= MAX_WAIT_S


def test_a_wait_that_is_over_at_once_never_waits_for_a_message(engine: LoopRig) -> None:
    num_waits, done = 30_000, threading.Event()

    def wait() -> None:
        for _ in range(num_waits):
            engine.inbox.put(Abandon(ids=[]))
            engine.loop._wait()
            engine.loop._wait(1e-9)
        done.set()

    threading.Thread(target=wait, daemon=True).start()
    assert done.wait(60)
