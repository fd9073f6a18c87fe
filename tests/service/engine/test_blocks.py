"""Answers go to the front in a piece for each kind of them, and come out of it as each would alone."""

from typing import Any

import msgspec

from service.ipc.channel import frame
from service.ipc.frames import PREFIX
from service.ipc.messages import EngineMessage, StepDone
from service.outputs.block import Vector, blocks_of
from tests.service.engine.loop_rig import LoopRig, request, vectors_of
from tests.service.engine.troubled_runner import NOT_FINITE, SHORT


def over_the_wire(step: StepDone) -> StepDone:
    decoder: Any = msgspec.msgpack.Decoder(EngineMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
    read = decoder.decode(bytes(frame(step))[PREFIX.size :])
    assert isinstance(read, StepDone)
    return read


def test_the_vectors_of_requests_that_want_the_same_are_one_block(engine: LoopRig) -> None:
    kinds = ("float32", "ubinary")
    step = engine.run(*[request(10 + i, 1 + i, output_dtypes=kinds) for i in range(5)])
    assert len(step.blocks) == 1
    vectors = vectors_of(over_the_wire(step))
    assert [one.id for one in vectors] == list(range(10, 15))
    for place, one in enumerate(vectors):
        assert {kind: bytes(row) for kind, row in one.rows.items()} == {
            "float32": bytes([1 + place]) * 32,
            "ubinary": bytes([1 + place]),
        }
        assert (one.num_batched, one.num_hits, one.num_misses, one.is_cached) == (5, 0, 0, False)
        assert one.queue_ms > 0
        assert one.inference_ms >= 0
    (report,) = engine.reports
    assert report.num_requests == 5


def test_rows_of_other_lengths_and_formats_and_failures_stand_beside_them(engine: LoopRig) -> None:
    others = [request(2, 3, dimensions=16), request(4, 3, output_dtypes=("int8",)), request(5, NOT_FINITE)]
    step = over_the_wire(engine.run(request(1, 1), *others, request(3, 5), request(6, 1), request(7, SHORT)))
    rows = {one.id: {kind: bytes(row) for kind, row in one.rows.items()} for one in vectors_of(step)}
    assert rows == {
        1: {"float32": b"\1" * 32},
        2: {"float32": b"\3" * 64},
        3: {"float32": b"\5" * 32},
        4: {"int8": b"\3" * 8},
        6: {"float32": b"\1" * 32},  # the same prompt: it is spared
    }
    assert {one.id: one.code for one in step.failures} == {5: "non_finite_embedding", 7: "internal_error"}


def test_rows_that_are_not_what_was_asked_for_are_an_error_of_their_request(engine: LoopRig) -> None:
    engine.runner.finish = lambda raw, requests: [{"float32": bytes(32)}] * 2  # as if another's row had come
    step = engine.run(request(1, 1), request(2, 2, dimensions=16))
    assert [one.id for one in vectors_of(step)] == [1]
    assert [(one.id, one.code) for one in step.failures] == [(2, "internal_error")]


def test_vectors_of_a_block_share_its_memory() -> None:
    facts = {"num_hits": 0, "num_misses": 0, "inference_ms": 3.0, "num_batched": 2}
    made = [Vector(id=4, rows={"int8": b"abc"}, queue_ms=1.0, **facts)]
    made.append(Vector(id=2, rows={"int8": b"defg"}, queue_ms=2.0, **facts))
    (block,) = blocks_of(made)
    first, second = block.vectors()
    assert (first.id, bytes(first.rows["int8"]), first.queue_ms) == (4, b"abc", 1.0)
    assert (second.id, bytes(second.rows["int8"]), second.queue_ms) == (2, b"defg", 2.0)
    assert isinstance(first.rows["int8"], memoryview)
