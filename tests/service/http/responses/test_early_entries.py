"""Entries that are printed before the answer is whole: the same bytes as those that are printed when they are sent."""

import asyncio
import base64
import json
import tracemalloc
from typing import Any

import msgspec
import numpy as np
import pytest

from service.errors import InputError
from service.front.admission.answer_room import SMALL_BYTES, AnswerRoom, Hold
from service.front.admission.shared_table import SharedTable
from service.front.job import EmbeddedInput, EmbedResult, InputResult
from service.front.tenant import SERVICE
from service.front.turns import Turns
from service.http.responses.answer import in_parts, slices
from service.http.responses.early_entries import EarlyEntries, Printed
from service.http.responses.vector_format import VectorFormat
from service.http.routes.embeddings import embedding_entry, embedding_response
from service.ipc.vectors import Vector
from service.prompt.prompt import Prompt

DIMENSIONS = 96
MEGABYTE = 1 << 20
FORMATS = [
    VectorFormat(),
    VectorFormat(is_base64=True),
    VectorFormat(is_base64=True, is_big_endian=True),
    VectorFormat(dtype="bfloat16"),
    VectorFormat(dtype="int8"),
]


def results_of(num: int, dtype: str, failed: set[int] = frozenset()) -> list[InputResult]:  # type: ignore[assignment]
    width = {"float32": 4, "bfloat16": 2, "int8": 1}[dtype]
    rows = np.random.default_rng(num).standard_normal((num, DIMENSIONS * width // 4), np.float32)
    prompt = Prompt([1, 2, 3], (), truncated=False)
    return [
        InputError("empty_input", "no text", param=f"input[{i}]", index=i)
        if i in failed
        else EmbeddedInput(
            prompt,
            Vector(
                id=i, rows={dtype: memoryview(row.tobytes())}, num_hits=0, num_misses=0, queue_ms=1.0, inference_ms=2.0
            ),
        )
        for i, row in enumerate(rows)
    ]


def entries_of(vector_format: VectorFormat) -> EarlyEntries:
    return EarlyEntries(
        Turns(), vector_format, lambda index, one, vector: embedding_entry("id", index, one, vector, [])
    )


def data_of(entries: list[Any], results: list[InputResult]) -> Any:
    body = b"".join(slices(in_parts(embedding_response("id", "model", EmbedResult(results, 0.0), entries))))
    return json.loads(body)["data"]


async def added(early: EarlyEntries, results: list[InputResult], parts: list[range], hold: Hold | None = None) -> None:
    for part in parts:
        await early.add(part, results[part.start : part.stop], hold)


@pytest.mark.parametrize("vector_format", FORMATS)
def test_entries_are_the_same_whether_they_are_printed_early_or_late(vector_format: VectorFormat) -> None:
    results = results_of(700, vector_format.dtype, failed={0, 299, 300, 699})
    late = data_of(entries_of(vector_format).entries(results), results)
    early = entries_of(vector_format)
    asyncio.run(added(early, results, [range(300, 700), range(300)]))  # parts end in any order
    made = early.entries([])
    assert len(made) < 20  # printed, hundreds of them together
    assert data_of(made, results) == late
    assert [entry["index"] for entry in late] == list(range(700))
    assert late[299]["error"]["param"] == "input[299]"


def test_a_part_of_nothing_but_errors_is_printed() -> None:
    results = results_of(3, "float32", failed={0, 1, 2})
    early = entries_of(VectorFormat())
    asyncio.run(added(early, results, [range(3)]))
    assert [entry["embedding"] for entry in data_of(early.entries([]), results)] == [None] * 3


def test_text_takes_the_place_of_vectors_in_the_room_for_answers_and_where_there_is_none_vectors_stay() -> None:
    results = results_of(1000, "float32")
    num_bytes = 1000 * DIMENSIONS * 4
    assert num_bytes > SMALL_BYTES
    room = AnswerRoom(4 * num_bytes, 1.0, SharedTable.of_one_front())
    hold = room.hold(num_bytes, SERVICE.tenant)
    early = entries_of(VectorFormat())
    asyncio.run(added(early, results, [range(1000)], hold))
    made = early.entries([])
    deferred = [one for one in made if isinstance(one, msgspec.Struct)]
    printed = sum(one.num_bytes for one in made if not isinstance(one, msgspec.Struct))
    assert 0 < len(deferred) < 1000  # text takes three times as much, and half of the room is others'
    assert hold is not None
    assert hold.num_bytes == printed + len(b",") + len(deferred) * DIMENSIONS * 4 <= 2 * num_bytes
    vectors = [np.array(entry["embedding"], np.float32) for entry in data_of(made, results)]
    own = [np.frombuffer(one.vector.rows["float32"], np.float32) for one in results if isinstance(one, EmbeddedInput)]
    assert np.array_equal(vectors, own)


def test_what_is_sent_is_let_go() -> None:
    """A client that reads slowly holds what it has not read, as the room for answers counts it."""
    tracemalloc.start()
    try:
        printed = Printed([b"," + bytes(MEGABYTE) for _ in range(4)])
        sent = printed.chunks()
        assert [len(next(sent)) for _ in range(3)] == [MEGABYTE, MEGABYTE + 1, MEGABYTE + 1]
        assert MEGABYTE < tracemalloc.get_traced_memory()[0] < 2 * MEGABYTE
    finally:
        tracemalloc.stop()


def test_base64_is_of_the_row() -> None:
    results = results_of(5, "float32")
    early = entries_of(VectorFormat(is_base64=True))
    asyncio.run(added(early, results, [range(5)]))
    for entry, one in zip(data_of(early.entries([]), results), results, strict=True):
        assert isinstance(one, EmbeddedInput)
        assert base64.b64decode(entry["embedding"]) == bytes(one.vector.rows["float32"])
