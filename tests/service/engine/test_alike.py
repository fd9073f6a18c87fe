"""Vectors of requests that ask for the same go to the front in one piece, and come out of it as each would alone."""

from typing import Any

import msgspec
import pytest

from cenote_kernels import WholeRows
from service.ipc.channel import frame
from service.ipc.frames import PREFIX
from service.ipc.messages import EngineMessage, StepDone
from service.ipc.vectors import VectorBlock
from tests.service.engine.loop_rig import LoopRig, image, request
from tests.service.engine.troubled_runner import NOT_FINITE, SHORT


def over_the_wire(step: StepDone) -> StepDone:
    decoder: Any = msgspec.msgpack.Decoder(EngineMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
    read = decoder.decode(bytes(frame(step))[PREFIX.size :])
    assert isinstance(read, StepDone)
    return read


def sent(engine: LoopRig) -> StepDone:
    (step,) = [message for message in engine.sent if isinstance(message, StepDone)]
    return step


def test_the_vectors_of_alike_requests_are_one_block(engine: LoopRig) -> None:
    kinds = ("float32", "ubinary")
    engine.submit(*[request(10 + i, 1 + i, output_dtypes=kinds) for i in range(5)])
    engine.turn()
    step = sent(engine)
    assert step.vectors == []
    vectors = over_the_wire(step).all_vectors()
    assert [one.id for one in vectors] == list(range(10, 15))
    for place, one in enumerate(vectors):
        assert {kind: bytes(row) for kind, row in one.rows.items()} == {
            "float32": bytes([1 + place]) * 32,
            "ubinary": bytes([1 + place]),
        }
        assert (one.num_batched, one.num_hits, one.num_misses, one.is_cached) == (5, 0, 0, False)
        assert one.queue_ms > 0
        assert one.inference_ms >= 0
    assert [one.num_requests for one in engine.reports] == [5]


@pytest.mark.parametrize(
    "others",
    [
        [request(2, 3, dimensions=16)],
        [request(2, 3, output_dtypes=("int8",))],
        [request(2, NOT_FINITE)],
        [request(2, SHORT)],
        [request(2, 1)],  # the same prompt: it is spared
    ],
)
def test_others_are_sent_one_by_one(engine: LoopRig, others: list[Any]) -> None:
    engine.submit(request(1, 1), request(3, 5), *others)
    engine.turn()
    assert sent(engine).block is None
    (step,) = engine.steps
    answered = {one.id: bytes(one.rows["float32"]) for one in step.vectors if "float32" in one.rows}
    assert answered[1] == bytes([1]) * 32
    assert answered[3] == bytes([5]) * 32
    assert {*(one.id for one in step.vectors), *(one.id for one in step.failures)} == {1, 2, 3}


def test_whoever_has_images_tells_of_them(engine: LoopRig) -> None:
    engine.submit(request(1, 1, image(b"a", 7)), request(2, 2, image(b"b", 8)))
    engine.turn(2)
    assert [(one.id, one.num_misses) for step in engine.steps for one in step.vectors] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("wrong", [request(1, SHORT), request(1, 2, is_sparse=True)])
def test_a_block_that_is_not_what_was_asked_for_is_an_error_of_each(engine: LoopRig, wrong: Any) -> None:
    engine.submit(wrong)
    engine.turn()
    (step,) = engine.steps
    assert step.vectors == []
    assert [(one.id, one.code) for one in step.failures] == [(1, "internal_error")]


def test_a_block_for_requests_that_want_different_vectors_is_taken_apart_and_checked(engine: LoopRig) -> None:
    same = WholeRows({"float32": memoryview(bytes(2 * 32))}, 2)
    engine.runner.finish = lambda raw, requests: same  # as if the rows of others had come
    engine.submit(request(1, 1), request(2, 2, dimensions=16))
    engine.turn()
    (step,) = engine.steps
    assert [one.id for one in step.vectors] == [1]
    assert [(one.id, one.code) for one in step.failures] == [(2, "internal_error")]


def test_vectors_of_a_block_share_its_memory() -> None:
    block = VectorBlock(
        ids=[4, 2], rows={"int8": memoryview(b"abcdef")}, queue_ms=[1.0, 2.0], inference_ms=3, num_batched=2
    )
    first, second = block.vectors()
    assert (first.id, bytes(first.rows["int8"]), first.queue_ms) == (4, b"abc", 1.0)
    assert (second.id, bytes(second.rows["int8"]), second.queue_ms) == (2, b"def", 2.0)
    assert isinstance(first.rows["int8"], memoryview)
