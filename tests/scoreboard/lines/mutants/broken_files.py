"""Broken files through a decoder's own process: what the lines of videos, audio files and PDFs share."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from service import metrics
from service.decode.isolated import IsolatedDecoder
from service.errors import MediaError
from tests.scoreboard.line import Result
from tests.scoreboard.lines.mutants.mutation import mutate

CODES = ("media_undecodable", "media_too_large")


def replaced() -> float:
    """Processes that a file ended, or that were late."""
    series = "cenote_decode_workers_replaced_total"
    reasons = ("lost", "deadline", "start")
    return sum(metrics.REGISTRY.get_sample_value(series, {"reason": reason}) or 0.0 for reason in reasons)


async def try_broken(
    size: int,
    draw: random.Random,
    seeds: Sequence[bytes],
    decoder: IsolatedDecoder,
    attempt: Callable[[bytes], Awaitable[str]],
    params: Sequence[str],
    codes: Sequence[str] = CODES,
) -> Result:
    """Try mutants one after another, through one process for as long as it lives.

    Args:
        attempt: decodes a file as a request does, and says what is wrong with what comes out; "" where nothing is.
        params: places that a refusal may name.
        codes: of refusals.
    """
    failures, num_accepted, slowest_s, before = list[str](), 0, 0.0, replaced()
    await attempt(seeds[0])  # the process starts with its first file
    for number in range(size):
        encoded, began_s = mutate(draw, draw.choice(seeds), draw.choice(seeds)), time.monotonic()
        try:
            if wrong := await attempt(encoded):
                failures.append(f"case {number}: {wrong}")
            num_accepted += 1
        except MediaError as error:
            if error.code not in codes or error.param not in params or "0x" in error.message:
                failures.append(f"case {number}: {error.code}: {error.message}")
        slowest_s = max(slowest_s, time.monotonic() - began_s)
    await asyncio.to_thread(decoder.close)
    if num_replaced := int(replaced() - before):
        failures.append(f"{num_replaced} processes ended or were late")
    figures = f"{num_accepted} accepted, slowest {slowest_s * 1e3:.0f} ms, {num_replaced} processes lost"
    return Result(size, len(failures), [*failures[:6], figures])
