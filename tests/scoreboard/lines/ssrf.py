"""Line 8: images by URL never reach what they must not, written out, after a name, after a redirect, or rebound.

The fetcher is the product's, over real sockets; its resolver is an argument. A part goes through a live server.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from service.media.fetch.connection import client_context
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.memory import FetchMemory
from service.media.fetch.policy import FetchPolicy, HostList
from tests.conftest import LiveServer, image_part
from tests.media_host import MediaHost, redirect, reply
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.scoreboard.lines.ssrf_corpus import ELSEWHERE, Case, corpus
from tests.scoreboard.lines.ssrf_trial import Names, Trial, Witness

FLIPS_PER_CASE = 2.5
HTTP_SHARE = 4
MAX_HTTP_CASES = 400
PUBLIC = (ELSEWHERE, "2606:4700::1111")
HIDDEN = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "64:ff9b::a9fe:a9fe")


@line(
    8,
    "hosts that must not be reached: as text, by name, by redirect, rebound; a part over HTTP",
    "0 packets at the canary, 0 oracle differences",
    sizes=(400, 20_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    with contextlib.ExitStack() as stack:
        front, canary = stack.enter_context(MediaHost()), stack.enter_context(MediaHost())
        canaries = [canary, *_second_canary(stack)]
        ports = frozenset({80, front.port, canary.port})
        witness = stack.enter_context(Witness(("127.0.0.1", front.port), PUBLIC, ports, canaries))
        names = Names({"front.test": itertools.repeat(["127.0.0.1"])})
        policy = FetchPolicy(
            allowed=HostList(has_any=True),
            private=HostList(names=frozenset({"front.test"})),
            ports=ports,
            connect_timeout_s=1.0,
        )
        fetcher = Fetcher(policy, names, FetchMemory(1 << 20), max_per_host=8, max_per_tenant=16, tls=client_context())
        trial = Trial(front, canary, witness, names, fetcher)
        cases = corpus(size)
        asyncio.run(_in_process(trial, cases, int(size * FLIPS_PER_CASE)))
        witness.__exit__()  # from here on the server connects, not we
        _over_http(trial, cases[:: max(HTTP_SHARE, len(cases) // MAX_HTTP_CASES)], folder)
        return _result(trial)


def _second_canary(stack: contextlib.ExitStack) -> list[MediaHost]:
    """The same for IPv6, where this machine has it; on a port of its own."""
    with contextlib.suppress(OSError):
        return [stack.enter_context(MediaHost(address="::1"))]
    return []


async def _in_process(trial: Trial, cases: Sequence[Case], num_flips: int) -> None:
    for number, case in enumerate(cases):
        await _three_ways(trial, case, number)
    for public in ("http://unknown.test/", f"http://{ELSEWHERE}/"):  # what a client sees of hosts that are not there
        await trial.fetch(public)
    await _flip(trial, num_flips)
    if len(trial.told) != 1:
        trial.failures.append(f"{len(trial.told)} different errors for reasons that a client must not tell apart")


async def _three_ways(trial: Trial, case: Case, number: int) -> None:
    url, failed = case.url.replace("{port}", str(trial.canary.port)), "media_fetch_failed"
    literal = (failed,) if case.is_plain else (failed, "media_source_refused")
    await trial.expect(f"literal {url!r}", trial.fetch(url), *literal)
    name = f"case-{number}.test"
    answers = ([case.address], [PUBLIC[0], case.address], [case.address, PUBLIC[1]])
    trial.names.table[name] = itertools.repeat(answers[number % 3])
    await trial.expect(f"name of {case.address}", trial.fetch(f"http://{name}:{trial.canary.port}/"), failed)
    trial.front.pages[f"/{number}"] = redirect(url.replace("\r\n", "%0d%0a"))
    await trial.expect(f"redirect to {url!r}", trial.fetch(trial.front.url(f"/{number}", "front.test")), failed)


async def _flip(trial: Trial, num_flips: int) -> None:
    """A name whose answer changes between two questions, either way round, at the first hop or after a redirect."""
    random = Random(10)
    for number in range(num_flips):
        public, hidden = random.choice(PUBLIC), random.choice(HIDDEN)
        name, answers = f"flip-{number}.test", [[public], [hidden]] if random.random() < 0.7 else [[hidden], [public]]
        trial.names.table[name] = itertools.chain(answers, itertools.repeat([hidden]))
        url = f"http://{name}:{trial.canary.port}/"
        if number % 2:
            trial.front.pages[f"/flip-{number}"] = redirect(url, "307 Temporary Redirect")
            url = trial.front.url(f"/flip-{number}", "front.test")
        before = trial.names.num_asked
        await trial.expect(f"flip {answers}", trial.fetch(url), "media_fetch_failed")
        if trial.names.num_asked - before != 1 + number % 2:
            trial.failures.append(f"flip {answers}: {trial.names.num_asked - before} look-ups")


def _over_http(trial: Trial, cases: Sequence[Case], folder: Path) -> None:
    """The same through a server with its own resolver; and whether a port is open must not show."""
    port, front = trial.canary.port, trial.front
    flags = ["--allow-media-hosts", "*", "--allow-private-media-hosts", "localhost", "--media-fetch-timeout-s", "1"]
    with served(folder / "server.log", "--media-ports", f"80,1,{port},{front.port}", *flags) as server:
        front.pages["/image"] = reply(b"no image")
        assert _ask(server, front.url("/image"))[1] == "media_undecodable"  # it does fetch
        for number, case in enumerate(cases):
            if case.url.lower().startswith("http://localhost:"):
                continue  # here the operator has allowed it
            front.pages[f"/{number}"] = redirect(url := case.url.replace("{port}", str(port)).replace("\r\n", "%0a"))
            _expect_http(trial, server, url, (400, 502) if not case.is_plain else (502,))
            _expect_http(trial, server, front.url(f"/{number}"), (502,))
        ways: list[Callable[[int], str]] = [lambda to: f"http://127.0.0.1:{to}/", lambda to: f"http://[::1]:{to}/"]
        seen = {_ask(server, way(to)) for way in ways for to in (port, 1)}
        seen |= {_ask(server, url) for url in ("http://localhost:1/", "http://nowhere.invalid/", "http://10.0.0.1/")}
        if len(seen) != 1:
            trial.failures.append(f"over HTTP open, closed and blocked ports differ: {sorted(seen)}")


def _expect_http(trial: Trial, server: LiveServer, url: str, statuses: Sequence[int]) -> None:
    before, trial.num_tried = trial.canary.num_connections, trial.num_tried + 1
    status, code, message = _ask(server, url)
    if status not in statuses or trial.canary.num_connections != before:
        trial.failures.append(f"over HTTP {url!r}: {status} {code} {message}")


def _ask(server: LiveServer, url: str) -> tuple[int, str, str]:
    body = {"messages": [{"role": "user", "content": [image_part(url)]}]}
    answer = server.http.post("/tokenize", json=body)
    error = answer.json().get("error", {})
    return answer.status_code, error.get("code", ""), error.get("message", "")


def _result(trial: Trial) -> Result:
    notes = [f"packets at the canaries and elsewhere: {trial.witness.num_packets}", *trial.failures[:8]]
    return Result(trial.num_tried, len(trial.failures), notes)
