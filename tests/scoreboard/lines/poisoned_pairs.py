"""A candidate, and a query, that end the engine: each is refused by its place in the end, and all others are scored.

The engine's trouble is that of `tests/faults`: a prompt with certain tokens ends the process. Others rerank meanwhile,
in each form, and every score that they get is their pair's own.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from tests.conftest import CHECKPOINT, ROOT, LiveServer
from tests.faults.server import faulty_environ
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import Connection, request_bytes, served
from tests.scoreboard.lines.scored import FORMS, are_same, scored, scores_alone, scores_in

RERANKER = ROOT / "tests" / "models" / "reranker" / "oracle" / "checkpoint"
FAMILY = ("--family", "qwen3_vl_reranker")
FLAGS = ("--breaker-wait-s", "0")
DEADLY = "☠☠☠☠☠☠"
QUERY, DOCUMENTS = "which word is it", [f"it is the word {n}" for n in range(6)]
PLACE = 3
NUM_OTHERS = 3
LONGEST_S = 90.0
KILLS = "the engine ended each time"


@line(
    13,
    "candidates and queries that end the engine, beside other clients' reranks",
    "refused by their place in the end; everybody else's scores are their pairs' own",
    sizes=(2, 20),
)
def run(size: int, folder: Path) -> Result:
    """A candidate on a reranker, and on an embedder that and a query, which is an input of its own there."""
    found = [_tried(folder, number % 2, number) for number in range(size)]
    failures = [failure for faults, _ in found for failure in faults]
    num_right, num_again = (sum(counts[i] for _, counts in found) for i in range(2))
    figures = f"others: {num_right} answers right, {num_again} told to come again"
    return Result(size, len(failures), [*failures[:5], figures])


def _tried(folder: Path, is_embedder: int, number: int) -> tuple[list[str], tuple[int, int]]:
    model, flags = (CHECKPOINT, FLAGS) if is_embedder else (RERANKER, (*FAMILY, *FLAGS))
    faults = folder / f"faults {number}"
    environ = faulty_environ(faults)
    ids = Tokenizer.from_file(str(model / "tokenizer.json")).encode(DEADLY, add_special_tokens=False).ids
    (faults / "deadly").write_text(" ".join(map(str, ids[1:-1])))  # what stands beside may change the others
    with served(folder / f"{number}.log", *flags, model=model, env=environ) as server:
        return asyncio.run(_poison(server, is_query=bool(is_embedder)))


async def _poison(server: LiveServer, *, is_query: bool) -> tuple[list[str], tuple[int, int]]:
    alone = scores_alone(server, QUERY, DOCUMENTS)
    over, others, failures = asyncio.Event(), [0, 0], list[str]()
    asking = [asyncio.create_task(_other(server, n, alone, over, others, failures)) for n in range(NUM_OTHERS)]
    killer = f"it is {DEADLY} the word"
    documents = [*DOCUMENTS[:PLACE], killer, *DOCUMENTS[PLACE:]]
    more = {"on_error": "per_item"}
    body = scored("/v1/rerank", killer, DOCUMENTS) if is_query else scored("/v1/rerank", QUERY, documents, **more)
    status, answer = await _in_the_end(server, body)
    over.set()
    await asyncio.gather(*asking)
    failures += _faults_of(status, answer, alone, is_query=is_query)
    if not others[0]:
        failures.append("nobody else was answered")
    return failures, (others[0], others[1])


def _faults_of(status: int, answer: bytes, alone: dict[int, float], *, is_query: bool) -> list[str]:
    """Faults of the final answer to the poisoned request."""
    said = json.loads(answer)
    if is_query:
        named = (status, said["error"]["param"], said["error"]["index"])
        return [] if named == (500, "query", None) and KILLS in said["error"]["message"] else [f"a query: {said}"]
    if status != 200:
        return [f"the other candidates: {status} {said}"]
    named = [(one["index"], one["param"], KILLS in one["message"]) for one in said.get("errors", [])]
    got = {place - (place > PLACE): score for place, score in scores_in("/v1/rerank", answer).items()}
    faults = [] if named == [(PLACE, f"documents[{PLACE}]", True)] else [f"a candidate: named as {named}"]
    return faults if are_same(got, alone) else [*faults, "the other candidates have other scores than alone"]


async def _in_the_end(server: LiveServer, body: tuple[str, dict[str, Any]]) -> tuple[int, bytes]:
    """Ask until it is answered for good, as a client does that is told to come again."""
    until_s = time.monotonic() + LONGEST_S
    while time.monotonic() < until_s:
        answer = await Connection(server.url).ask(request_bytes(*body))
        if answer.status != 503:
            return answer.status, answer.body
        await asyncio.sleep(0.3)
    return answer.status, answer.body


async def _other(
    server: LiveServer,
    number: int,
    alone: dict[int, float],
    over: asyncio.Event,
    counts: list[int],
    failures: list[str],
) -> None:
    connection = Connection(server.url)
    while not over.is_set():
        form = FORMS[number % len(FORMS)]
        answer = await connection.ask(request_bytes(*scored(form, QUERY, DOCUMENTS)))
        if answer.status == 503 and answer.headers.get("retry-after", "").isdigit():
            counts[1] += 1
            await asyncio.sleep(0.3)
        elif answer.status == 200 and are_same(scores_in(form, answer.body), alone):
            counts[0] += 1
        else:
            failures.append(f"another client's {form} was answered {answer.status} {answer.body[:100]!r}")
        number += NUM_OTHERS
