"""Load at 1, 2, 5 and 10 times what the server can do: it goes on doing that much, and tells the rest to come back.

Open loop: requests leave by the clock, whether or not earlier ones have been answered. They are large, so that the
model is what is short and not this process or the server's parser: all three share two cores. No two texts are alike,
or the engine would run one for all. Half of the requests are for scores, in each form, of which some are held against
those of their pairs alone. The bar is what as many clients as fill the queue get, right before and right after
the last step, so that a busy machine is busy for both.
"""

import asyncio
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.conftest import LiveServer
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import Connection, get_bytes, request_bytes, served
from tests.scoreboard.lines.scored import FORMS, Form, are_same, scored, scores_alone, scores_in

STEPS = (1, 2, 5, 10)
MIN_GOODPUT = 0.95
NUM_INPUTS = 32
QUEUED_REQUESTS = 8
PEAK_S = 6
PROBE_EVERY_S = 0.2
FLAGS = ("--max-queue-requests", str(QUEUED_REQUESTS * NUM_INPUTS))
TEXT = "word " * 120
NUM_KEPT, NUM_COMPARED = 12, 2
"""Answers of a step with scores that are kept, and the scores of each that are compared."""


@dataclass
class Step:
    """Results of one step of load."""

    answered_s: list[float] = field(default_factory=list)
    """When each request that got its vectors got them, on the monotonic clock."""
    refused_s: list[float] = field(default_factory=list)
    """Seconds of each refusal."""
    failures: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    scored: list[tuple["Asked", bytes]] = field(default_factory=list)
    """Requests for scores with their answers, the first of them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request; `form` is None where it is for vectors."""

    form: Form | None
    texts: list[str]

    @property
    def raw(self) -> bytes:
        """As it is sent: the first text is the query, if it has one."""
        if self.form is not None:
            return request_bytes(*scored(self.form, self.texts[0], self.texts[1:]))
        return request_bytes("/v1/embeddings", {"input": self.texts, "encoding_format": "base64"})


@line(
    15,
    "requests for vectors and scores at 1x, 2x, 5x, 10x of peak, seconds per step",
    "goodput at 10x >= 95 % of peak; some are refused there, each 503 with Retry-After; /livez 200; right scores",
    sizes=(20, 600),
)
def run(size: int, folder: Path) -> Result:
    """Each step for `size` seconds."""
    with served(folder / "server.log", *FLAGS) as server:
        return asyncio.run(_measure(server, size))


async def _measure(server: LiveServer, seconds: int) -> Result:
    await _peak_per_s(server, 3)  # warm
    peaks_per_s = [await _peak_per_s(server, PEAK_S)]
    probes: list[tuple[int, float]] = []
    probing = asyncio.create_task(_probe(server, probes))
    steps = {}
    for times in STEPS:
        if times == STEPS[-1]:
            peaks_per_s = [await _peak_per_s(server, PEAK_S)]
        steps[times] = await _load(server, times * peaks_per_s[0], seconds)
    peaks_per_s.append(await _peak_per_s(server, PEAK_S))
    probing.cancel()
    swapped = [one.form for one, answer in steps[STEPS[-1]].scored if not _is_right(server, one, answer)]
    goodputs = {times: _rate(step.answered_s) for times, step in steps.items()}
    best = statistics.fmean(peaks_per_s)
    failures = [failure for step in steps.values() for failure in step.failures]
    failures += [f"{form} was answered with the scores of others" for form in swapped]
    failures += [f"/livez answered {status}" for status, _ in probes if status != 200]
    if goodputs[10] < MIN_GOODPUT * best:
        failures.append(f"goodput at 10x is {goodputs[10] / best:.1%} of peak")
    if not steps[10].refused_s:
        failures.append("at 10x nothing was refused")
    num_tried = sum(step.statuses.total() for step in steps.values()) + len(probes)
    return Result(num_tried, len(failures), [*failures[:5], *_figures(steps, goodputs, best, probes)])


def _figures(
    steps: dict[int, Step], goodputs: dict[int, float], best: float, probes: list[tuple[int, float]]
) -> list[str]:
    refused_s = sorted(one for step in steps.values() for one in step.refused_s)
    p99_ms = refused_s[int(0.99 * len(refused_s))] * 1e3 if refused_s else 0.0
    shares = ", ".join(f"{times}x {goodput / best:.0%}" for times, goodput in goodputs.items())
    statuses = sum((step.statuses for step in steps.values()), Counter())
    slowest_ms = max(took_s for _, took_s in probes) * 1e3
    return [
        f"peak {best * NUM_INPUTS:.0f} inputs/s; goodput of it: {shares}",
        f"{dict(statuses)}; refusals p99 {p99_ms:.0f} ms; slowest /livez {slowest_ms:.0f} ms",
    ]


def _rate(answered_s: list[float]) -> float:
    """Answers per second between the first and the last; ends of a step are no part of it."""
    return (len(answered_s) - 1) / (answered_s[-1] - answered_s[0]) if len(answered_s) > 1 else 0.0


async def _peak_per_s(server: LiveServer, seconds: float) -> float:
    """Requests per second when the queue is always full and never overfull."""
    step, until_s = Step(), time.monotonic() + seconds

    async def ask_on() -> None:
        connection = Connection(server.url)
        while time.monotonic() < until_s:
            await _ask(connection, step)
        connection.close()

    await asyncio.gather(*(ask_on() for _ in range(QUEUED_REQUESTS)))
    assert not step.failures, step.failures[:3]
    return _rate(step.answered_s)


async def _load(server: LiveServer, per_s: float, seconds: float) -> Step:
    """Requests by the clock; connections are kept and used again."""
    step = Step()
    idle: list[Connection] = []

    async def ask_once() -> None:
        connection = idle.pop() if idle else Connection(server.url)
        await _ask(connection, step)
        idle.append(connection)

    began_s, asking = time.monotonic(), []
    for number in range(int(per_s * seconds)):
        await asyncio.sleep(max(0.0, began_s + number / per_s - time.monotonic()))
        asking.append(asyncio.create_task(ask_once()))
    await asyncio.gather(*asking)
    for connection in idle:
        connection.close()
    return step


numbers = count()


def _asked() -> Asked:
    """Texts that nobody has sent yet, all of one length, on every route in turn."""
    number = next(numbers)
    texts = [f"{number:06d} {place:02d} {TEXT}" for place in range(NUM_INPUTS)]
    return Asked(FORMS[number // 2 % len(FORMS)] if number % 2 else None, texts)


def _is_right(server: LiveServer, asked: Asked, answer: bytes) -> bool:
    """True if the first scores are those of their pairs alone."""
    assert asked.form is not None
    got = scores_in(asked.form, answer)
    some = {place: got[place] for place in range(NUM_COMPARED)}
    return are_same(some, scores_alone(server, asked.texts[0], asked.texts[1 : NUM_COMPARED + 1]))


async def _ask(connection: Connection, step: Step) -> None:
    asked, began_s = _asked(), time.monotonic()
    try:
        answer = await connection.ask(asked.raw)
    except (OSError, asyncio.IncompleteReadError) as error:
        step.statuses[0] += 1
        step.failures.append(f"a request got no answer: {type(error).__name__}")
        return
    now_s = time.monotonic()
    step.statuses[answer.status] += 1
    if answer.status == 200:
        step.answered_s.append(now_s)
        if asked.form is not None and len(step.scored) < NUM_KEPT:
            step.scored.append((asked, answer.body))
        return
    step.refused_s.append(now_s - began_s)
    is_told = answer.headers.get("retry-after", "").isdigit() and 1 <= int(answer.headers["retry-after"]) <= 30
    if answer.status != 503 or b'"overloaded"' not in answer.body or not is_told:
        step.failures.append(f"a refusal is {answer.status}, Retry-After {answer.headers.get('retry-after')}")


async def _probe(server: LiveServer, probes: list[tuple[int, float]]) -> None:
    connection = Connection(server.url)
    while True:
        began_s = time.monotonic()
        answer = await connection.ask(get_bytes("/livez"))
        probes.append((answer.status, time.monotonic() - began_s))
        await asyncio.sleep(PROBE_EVERY_S)
