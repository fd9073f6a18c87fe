"""One client reranks 1,000 candidates, again and again; others' few candidates and single texts wait for a few steps.

On a reranker, where nobody has a key and all are one tenant, and on an embedder with two tenants, of whom one reranks
and one embeds. The bar is a part of what the large request takes, so that a busy machine is busy for both. Every score
is held against that of its pair alone.
"""

import asyncio
import json
import statistics
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from service.front.admission.key_file import new_key
from tests.conftest import CHECKPOINT, ROOT, TOLERANCE, LiveServer, from_base64
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.fairness_before_engine import key_flags
from tests.scoreboard.lines.raw_http import Connection, request_bytes, served
from tests.scoreboard.lines.scored import FORMS, Form, are_same, scored, scores_in

RERANKER = ROOT / "tests" / "models" / "reranker" / "oracle" / "checkpoint"
FAMILY = ("--family", "qwen3_vl_reranker")
NUM_CANDIDATES = 1000
NUM_FEW = 12
"""With their query more than counts as short, so that they are in one queue with the thousand."""
TIMES_ALONE = 3.0
SHARE = 0.25
"""Of what the thousand take: a few steps of some sixteen."""
NUM_LOOKED_AT = 12

numbers = count()


@dataclass
class Small:
    """A request that has to pass, and what came of it.

    Attributes:
        form: how its answer is read; None for vectors.
        raw: as it is sent.
        alone: its answer when nobody else was there.
        seconds: of that.
    """

    form: Form | None
    raw: bytes
    alone: bytes = b""
    seconds: float = 0.0

    def is_right(self, answer: bytes) -> bool:
        """True if this is the answer that it had alone."""
        if self.form is None:
            got, want = (from_base64(json.loads(one)["data"][0]["embedding"]) for one in (answer, self.alone))
            return bool(np.abs(got - want).max() <= TOLERANCE)
        return are_same(scores_in(self.form, answer), scores_in(self.form, self.alone))


@dataclass
class Flood:
    """Answers to the client with the thousand: seconds of each, and scores with their pairs."""

    seconds: list[float] = field(default_factory=list)
    looked_at: list[tuple[str, str, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@line(
    15,
    "small requests while another client reranks 1,000 candidates again and again",
    "longest wait <= 3x alone + a quarter of the 1,000's time; every score is its pair's own",
    sizes=(12, 100),
)
def run(size: int, folder: Path) -> Result:
    """Ask `size` small requests on each model, alone and beside the thousand."""
    keys = (new_key(), new_key())
    models = {
        "a reranker, no keys": (RERANKER, FAMILY, ("", "")),
        "an embedder, two tenants": (CHECKPOINT, key_flags(keys, folder), keys),
    }
    failures, figures = [], []
    for number, (name, (model, flags, pair)) in enumerate(models.items()):
        with served(folder / f"{number}.log", *flags, model=model) as server:
            flood, smalls, waits_s, wrong = asyncio.run(_measure(server, pair, size))
        took_s, alone_s = statistics.median(flood.seconds), statistics.median(one.seconds for one in smalls)
        times = (
            f"{statistics.median(waits_s) * 1e3:.0f} ms, {max(waits_s) * 1e3:.0f} at most, {alone_s * 1e3:.0f} alone"
        )
        figures.append(f"{name}: {times}; {NUM_CANDIDATES} candidates take {took_s * 1e3:.0f}")
        if max(waits_s) > TIMES_ALONE * alone_s + SHARE * took_s:
            failures.append(f"{name}: too long")
        failures += [f"{name}: {fault}" for fault in (*flood.failures, *wrong)]
    return Result(2 * size, len(failures), [*failures[:5], *figures])


async def _measure(
    server: LiveServer, keys: tuple[str, str], size: int
) -> tuple[Flood, list[Small], list[float], list[str]]:
    smalls = [_small(number, keys[1]) for number in range(size)]
    connection = Connection(server.url)
    for one in (smalls[0], *smalls):  # the first is asked twice: it warms
        began_s = time.monotonic()
        answer = await connection.ask(one.raw)
        one.seconds, one.alone = time.monotonic() - began_s, answer.body
        assert answer.status == 200, answer.body[:300]
    flood = Flood()
    flooding = asyncio.create_task(_flood(server, keys[0], flood))
    await asyncio.sleep(0.5)
    waits_s, wrong = [], []
    for one in smalls:
        began_s = time.monotonic()
        answer = await connection.ask(one.raw)
        waits_s.append(time.monotonic() - began_s)
        if answer.status != 200 or not one.is_right(answer.body):
            wrong.append(f"a small request was answered {answer.status} {answer.body[:120]!r}")
    while not flood.seconds and not flooding.done():
        await asyncio.sleep(0.1)
    flooding.cancel()
    await asyncio.gather(flooding, return_exceptions=True)
    flood.failures += await _swapped(server, keys[0], flood)
    return flood, smalls, waits_s, wrong


def _small(number: int, key: str) -> Small:
    """A few candidates or, where there are tenants, every second time a text to embed."""
    if key and number % 2:
        return Small(None, _post("/v1/embeddings", {"input": f"a text {number}", "encoding_format": "base64"}, key))
    form = FORMS[number % len(FORMS)]
    documents = [f"candidate {number} {n} " + "of a few words " * 12 for n in range(NUM_FEW)]
    return Small(form, _post(*scored(form, f"a query {number}", documents), key))


async def _flood(server: LiveServer, key: str, flood: Flood) -> None:
    connection = Connection(server.url)
    for number in count():
        form = FORMS[number % len(FORMS)]
        query = f"a long query {next(numbers)}"
        documents = [f"{n} of {next(numbers)} " + "some more words of a text " * 6 for n in range(NUM_CANDIDATES)]
        began_s = time.monotonic()
        answer = await connection.ask(_post(*scored(form, query, documents), key))
        flood.seconds.append(time.monotonic() - began_s)
        if answer.status != 200:
            flood.failures.append(f"the thousand were answered {answer.status} {answer.body[:120]!r}")
            return
        got = scores_in(form, answer.body)
        step = NUM_CANDIDATES // NUM_LOOKED_AT
        flood.looked_at += [(query, documents[i], got[i]) for i in range(number % step, NUM_CANDIDATES, step)]


async def _swapped(server: LiveServer, key: str, flood: Flood) -> list[str]:
    """Scores among the last that are not those of their pairs alone."""
    connection, wrong = Connection(server.url), []
    for query, document, got in flood.looked_at[-NUM_LOOKED_AT:]:
        answer = await connection.ask(_post(*scored("/score", query, [document]), key))
        if not are_same({0: got}, scores_in("/score", answer.body)):
            wrong.append("a candidate of the thousand has another's score")
    return wrong


def _post(path: str, body: dict[str, Any], key: str) -> bytes:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return request_bytes(path, body, **headers)
