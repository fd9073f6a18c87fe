"""Clients that hang up at random points: all they held comes back within two seconds, and nothing is done for the dead.

Which requests each step of the engine holds is written down from outside, by a `sitecustomize` that both processes
import; a client's own `X-Request-Timeout`, no two alike, says whose they are.
"""

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from tests.at_start.environ import customized_environ
from tests.conftest import LiveServer, image, image_part
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import Connection, request_bytes, served
from tests.scoreboard.lines.scored import FORMS, scored

NUM_AT_ONCE = 24
NUM_LIVE = 3
BACK_S = 2.0
NEWS_S = 0.5
"""Longest way of a hang-up to the engine on two busy cores: connection, front, socket pair. Half of it is the time in
which a client that has ended its side is asked whether it is there."""

GAUGES = ("queue_inputs", "queue_tokens", "queue_bytes", "pixel_arena_bytes")
FLAGS = ("--max-batch-requests", "2", "--encoder-cache-bytes", "4MiB", "--request-timeout-s", "9999")
"""Small batches, so that a dead request has few to hide among."""

texts_so_far = count()

TRACE = Path(__file__).parent / "aborts_trace.py"


@line(
    14,
    "clients that hang up at random points, of vectors and of scores",
    "slots, bytes and descriptors back in 2 s; no step for the dead alone",
    sizes=(1_000, 10_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """So many clients that hang up, beside some that wait for every answer."""
    hook, trace = folder / "hook", folder / "trace.jsonl"
    hook.mkdir(exist_ok=True)
    trace.unlink(missing_ok=True)
    (hook / "sitecustomize.py").write_text(TRACE.read_text())
    env = customized_environ(hook, ABORTS_TRACE=str(trace))
    with served(folder / "server.log", *FLAGS, env=env) as server:
        return asyncio.run(_measure(server, size, trace))


async def _measure(server: LiveServer, size: int, trace: Path) -> Result:
    draw = random.Random(14)
    for _ in range(4):  # threads and descriptors that stay are there before counting
        await Connection(server.url).ask(_request(draw, 1000.0))
    num_files = _num_files(server)
    gone_s: dict[float, float] = {}
    statuses: Counter[int] = Counter()
    done = asyncio.Event()
    living = [asyncio.create_task(_live(server, statuses, done)) for _ in range(NUM_LIVE)]
    numbers = iter(range(size))
    await asyncio.gather(*(_abort_some(server, draw, numbers, gone_s) for _ in range(NUM_AT_ONCE)))
    done.set()
    await asyncio.gather(*living)
    left = await _left_behind(server, num_files)
    dead, num_steps = _dead_steps(trace, gone_s)
    failures = [f"{name}: {value} after {BACK_S:g} s" for name, value in left.items()]
    failures += [f"a live request got {status}, {num} times" for status, num in statuses.items() if status != 200]
    failures += [f"{dead} of {num_steps} steps were for the dead alone"] if dead else []
    figures = f"{num_steps} steps, {statuses[200]} live answers, 499 counted {_num_499(server):.0f} times"
    is_blind = ["no step was seen"] if not num_steps else []
    return Result(size + statuses.total(), len(failures) + len(is_blind), [*failures[:5], *is_blind, figures])


async def _live(server: LiveServer, statuses: Counter[int], done: asyncio.Event) -> None:
    connection = Connection(server.url)
    while not done.is_set():
        texts = [_text(60) for _ in range(12)]
        body = request_bytes("/v1/embeddings", {"input": texts, "encoding_format": "base64"})
        statuses[(await connection.ask(body)).status] += 1
    connection.close()


async def _abort_some(
    server: LiveServer, draw: random.Random, numbers: Iterator[int], gone_s: dict[float, float]
) -> None:
    for number in numbers:
        patience_s = 1000 + number / 1000
        request = _request(draw, patience_s)
        connection = Connection(server.url)
        reader, writer = await connection.open()
        cut = draw.choice((draw.randrange(len(request)), len(request), len(request), len(request)))
        writer.write(request[:cut])
        try:
            await asyncio.wait_for(reader.read(1), draw.uniform(0, 0.6))
        except TimeoutError:
            gone_s[patience_s] = time.monotonic()
        if draw.getrandbits(1):
            writer.transport.abort()  # a reset
        connection.close()


def _text(num_words: int) -> str:
    """Like no other: one that the living send too would be run for the dead as well."""
    return f"{next(texts_so_far)} " + "a text " * num_words


def _request(draw: random.Random, patience_s: float) -> bytes:
    texts = [_text(draw.randrange(1, 80)) for _ in range(draw.choice((1, 2, 8)))]
    path, body = "/v1/embeddings", dict[str, Any]()
    match draw.randrange(8):
        case 0:
            body = {"inputs": [{"content": [image_part(image(draw.randrange(40), 300, 200))]}] * 2}
        case 1:
            body = {"input": "a text " * 4000, "truncate_prompt_tokens": 100}
        case 2 | 3:
            body = {"input": texts}
        case 4:
            path, body = "/embed", {"inputs": texts}
        case 5:
            page = {"image": image(draw.randrange(40), 300, 200)}
            path, body = scored(draw.choice(FORMS), page, [page, *texts])
        case _:
            path, body = scored(draw.choice(FORMS), _text(9), [*texts, *(_text(9) for _ in range(30))])
    return request_bytes(path, body, x_request_timeout=f"{patience_s:.3f}")


async def _left_behind(server: LiveServer, num_files: int) -> dict[str, float]:
    """Resources that have not come back in their time."""
    until_s = time.monotonic() + BACK_S
    while True:
        left = {name: value for name in GAUGES if (value := server.metric(f"cenote_{name}"))}
        left |= {"descriptors": num} if (num := _num_files(server) - num_files) > 0 else {}
        if not left or time.monotonic() > until_s:
            return left
        await asyncio.sleep(0.05)


def _num_files(server: LiveServer) -> int:
    """Open descriptors of the front, but for this line's own questions, whose connection is kept."""
    server.metric("cenote_queue_inputs")
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def _num_499(server: LiveServer) -> float:
    text = server.http.get("/metrics").text
    return sum(float(value) for value in re.findall(r'cenote_requests_total\{[^}]*status="499"\} (\S+)', text))


def _dead_steps(trace: Path, gone_s: dict[float, float]) -> tuple[int, int]:
    """Steps of the engine all of whose requests had been dead for long enough to know it, and all steps."""
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    owner = {id_: event["patience_s"] for event in events if "patience_s" in event for id_ in event["ids"]}
    steps = [event for event in events if "step_s" in event]
    dead = [
        step
        for step in steps
        if all(gone_s.get(owner.get(id_, 0.0), float("inf")) < step["step_s"] - NEWS_S for id_ in step["ids"])
    ]
    return len(dead), len(steps)
