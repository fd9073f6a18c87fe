"""Cost of writing an answer, in microseconds and bytes for each vector: `make bench`.

The service's own ways (`embedding_response` or the raw rows, then its slices as they are sent: the whole way from the
engine's rows to the body) stand beside the plain ones, which print lists of Python floats in one go. All are timed in
turns, one call each, so that what else the machine does meets all alike; the least says what the code costs, the
quartiles what it cost now.
"""

import argparse
import base64
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import numpy as np

from schemas.endpoints.embeddings import EmbeddingData, EmbeddingRequest, EmbeddingResponse
from schemas.fields import EmbedDtype
from service.front.job import EmbeddedInput, EmbedResult
from service.http.responses.answer import BodyParts, in_parts, slices
from service.http.routes.embeddings import embedding_response
from service.outputs.block import Vector
from service.outputs.dense import VectorFormat
from service.outputs.plan import TokenPlan
from service.prompt.prompt import Prompt

DIMENSIONS: Final = 2048
NUM_VECTORS: Final = (1, 64, 2048)
SECONDS_EACH: Final = 20.0
MIN_ROUNDS: Final = 7
MAX_ROUNDS: Final = 2000
TOKENS: Final = 26

Way = Callable[[], int]
"""Writes the answer and says how many bytes that were."""

plain_encode = msgspec.json.Encoder().encode


def embedded(num_vectors: int, dtype: EmbedDtype) -> EmbedResult:
    """Unit vectors as the engine hands them over, no two alike."""
    rows = np.random.default_rng(num_vectors).standard_normal((num_vectors, DIMENSIONS), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    stored = rows.astype("<f2") if dtype == "float16" else rows.astype("<f4")
    prompt = Prompt(TokenPlan([1] * TOKENS), (), truncated=False)
    vectors = [
        Vector(id=i, rows={dtype: row.tobytes()}, num_hits=0, num_misses=0, queue_ms=0.0, inference_ms=0.0)
        for i, row in enumerate(stored)
    ]
    return EmbedResult([EmbeddedInput(prompt, vector) for vector in vectors], 0.0)


def json_way(made: EmbedResult, **wanted: object) -> Way:
    """The service's JSON answer, as a route writes it."""
    vector_format, body = VectorFormat(**wanted), EmbeddingRequest()  # type: ignore[arg-type]

    def write() -> int:
        return sent(in_parts(embedding_response("bench", body, "builtin", made, vector_format)))

    return write


def raw_way(made: EmbedResult, **wanted: object) -> Way:
    """The service's raw answer."""
    vector_format = VectorFormat(**wanted)  # type: ignore[arg-type]
    return lambda: sent(BodyParts([vector_format.raw(one.vector.rows[vector_format.dtype]) for one in made.embedded]))


def sent(parts: BodyParts) -> int:
    """Print every slice, and let go of it."""
    return sum(map(len, slices(parts)))


def plain_response(made: EmbedResult, write: Callable[[bytes], object]) -> EmbeddingResponse:
    """The same answer, with vectors as Python values that the encoder prints."""
    usage = made.counts.usage(len(made.inputs))
    data = [
        EmbeddingData(index=i, embedding=write(one.vector.rows["float32"]), truncated=False)  # type: ignore[arg-type]
        for i, one in enumerate(made.embedded)
    ]
    return EmbeddingResponse(id="embd-bench", created=int(time.time()), model="builtin", data=data, usage=usage)


def python_floats(row: bytes) -> list[float]:
    floats: list[float] = np.frombuffer(row, "<f4").tolist()
    return floats


def base64_text(row: bytes) -> str:
    return base64.b64encode(row).decode()


def ways(num_vectors: int) -> Mapping[str, Way]:
    """Every way to write the answer, ours first."""
    full, half = embedded(num_vectors, "float32"), embedded(num_vectors, "float16")
    return {
        "base64": json_way(full, is_base64=True),
        "base64, float16": json_way(half, is_base64=True, dtype="float16"),
        "base64, big-endian": json_way(full, is_base64=True, is_big_endian=True),
        "floats": json_way(full),
        "floats, float16": json_way(half, dtype="float16"),
        "raw": raw_way(full),
        "raw, float16": raw_way(half, dtype="float16"),
        "raw, big-endian": raw_way(full, is_big_endian=True),
        "plain: base64 str, msgspec": lambda: len(plain_encode(plain_response(full, base64_text))),
        "plain: float list, msgspec": lambda: len(plain_encode(plain_response(full, python_floats))),
        "plain: float list, json.dumps": lambda: len(
            json.dumps(msgspec.to_builtins(plain_response(full, python_floats))).encode()
        ),
    }


def in_turns(all_ways: Mapping[str, Way], seconds: float) -> dict[str, list[float]]:
    """Seconds of each call, over and over; the order is drawn anew each time, for a way pays for what ran before it."""
    order, rng = list(all_ways.items()), random.Random(0)
    spent: dict[str, list[float]] = {name: [] for name in all_ways}
    began_s = time.perf_counter()
    for turn in range(MAX_ROUNDS):
        if turn >= MIN_ROUNDS and time.perf_counter() - began_s > seconds:
            break
        rng.shuffle(order)
        for name, way in order:
            start_s = time.perf_counter()
            way()
            spent[name].append(time.perf_counter() - start_s)
    return spent


def report(num_vectors: int, seconds: float) -> None:
    """Measure one size of answer and print its table."""
    all_ways = ways(num_vectors)
    spent = in_turns(all_ways, seconds)
    rounds = len(next(iter(spent.values())))
    print(f"\n{num_vectors} vectors of {DIMENSIONS} dimensions, {rounds} rounds; microseconds per vector")
    print(f"{'way':32}{'least':>9}{'quarter':>9}{'median':>9}{'3 quart.':>9}{'bytes/vector':>14}")
    for name, times in spent.items():
        each = [one / num_vectors * 1e6 for one in times]
        low, middle, high = statistics.quantiles(each, n=4)
        size = all_ways[name]() / num_vectors
        print(f"{name:32}{min(each):9.1f}{low:9.1f}{middle:9.1f}{high:9.1f}{size:14,.0f}")


def main() -> None:
    """Read the flags, measure every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS_EACH, help="for each size of answer")
    flags = parser.parse_args()
    for num_vectors in NUM_VECTORS:
        report(num_vectors, flags.seconds)


if __name__ == "__main__":
    main()
