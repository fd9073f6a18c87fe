"""Windows' results as chunks' results: each its part of the rows, what the windows cost once, errors about the text."""

import pytest

from service.errors import ModelError
from service.front.job import EmbeddedInput, EmbedResult, Job, JobInput, by_chunk
from service.front.tenant import SERVICE
from service.outputs.block import Vector
from service.outputs.chunks import ChunksAsk
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation


def chunk(num_tokens: int, *, truncated: bool = False) -> Prompt:
    return Prompt(TokenPlan([7] * num_tokens), (), truncated)


def window(number: int, row: bytes, *chunks: Prompt, is_cached: bool = False) -> EmbeddedInput:
    prompt = Prompt(
        TokenPlan(list(range(10 * number))), (), truncated=any(chunk.truncated for chunk in chunks), chunks=chunks
    )
    times = {"queue_ms": float(number), "inference_ms": 2.0 * number}
    rows = {"float32": row, "ubinary": row[::4]}
    return EmbeddedInput(prompt, Vector(id=number, rows=rows, num_hits=0, num_misses=0, is_cached=is_cached, **times))


def test_each_chunk_has_its_part_of_every_row_and_windows_are_counted_once() -> None:
    first = window(1, b"aaaabbbb", chunk(3), chunk(5, truncated=True))
    second = window(2, b"cccc", chunk(12), is_cached=True)
    result = by_chunk(EmbedResult([first, second], 1.5))
    assert [one.vector.rows for one in result.embedded] == [
        {"float32": b"aaaa", "ubinary": b"a"},
        {"float32": b"bbbb", "ubinary": b"b"},
        {"float32": b"cccc", "ubinary": b"c"},
    ]
    assert [one.prompt.truncated for one in result.embedded] == [False, True, False]
    assert [len(one.prompt.plan.ids) for one in result.embedded] == [3, 5, 12]
    counts = result.counts
    assert (counts.num_tokens, counts.num_cached_tokens, counts.num_truncated) == (30, 20, 1)
    assert (result.media_ms, result.queue_ms, result.inference_ms) == (1.5, 2.0, 4.0)


@pytest.mark.parametrize(
    ("late_chunking", "expected"), [(True, ("input", None)), (False, ("input[1]", 1))], ids=["window", "input"]
)
def test_an_engines_error_about_a_window_is_about_the_text(
    late_chunking: bool, expected: tuple[str, int | None]
) -> None:
    """The engine counts windows, so its second is not the second chunk."""
    inputs = [JobInput(f"input[{i}]", "a") for i in range(3)]
    kind = ChunksAsk if late_chunking else DenseAsk
    asks = (kind(dimensions=4),)
    job = Job(inputs=inputs, truncation=Truncation(9), asks=asks, tenant=SERVICE.tenant)
    error = ModelError("non_finite_embedding", "not finite", index=1)
    job.name_input(error)
    assert (error.param, error.index) == expected
