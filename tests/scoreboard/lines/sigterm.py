"""SIGTERM under load, after a router that learns late: every request that the server accepted is answered."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx

from tests.conftest import LiveServer
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served
from tests.steady_load import EMBEDDINGS, TIMEOUT_S, SteadyLoad, body_of

LAME_DUCK_S = 1.0
LAG_S = 0.7
"""Time of the router from the probe's change until nobody is sent here any more."""
POLL_S = 0.05
BUSY_S = 1.0
NUM_AT_ONCE = 2
EXIT_S = 40
LONG_AFTER_S = 0.4
"""After the signal; the router still sends then."""
LONG = {"input": [f"{number} " + "and so on " * 120 for number in range(1024)], "encoding_format": "base64"}
"""Lasts beyond the lame duck's time: without it, every request may be over when the listener closes."""


class Router:
    """Sends clients to a server as long as its probe says ready, and a little longer."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.is_open = True
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while self._status() == 200:
            time.sleep(POLL_S)
        time.sleep(LAG_S)
        self.is_open = False

    def _status(self) -> int:
        try:
            return httpx.get(f"{self._url}/readyz", timeout=5).status_code
        except httpx.TransportError:
            return 0


def one_drain(folder: Path, number: int) -> tuple[int, int, list[str]]:
    """Start a server, load it, tell it to go; requests sent, requests answered after the listener closed, faults."""
    flags = ("--lame-duck-s", str(LAME_DUCK_S), "--encoder-cache-bytes", "0")
    with served(folder / f"{number}.log", *flags) as server:
        return _drained(server, number)


def _drained(server: LiveServer, number: int) -> tuple[int, int, list[str]]:
    router = Router(server.url)
    asked = partial(body_of, num_inputs=12)
    load = SteadyLoad(server.url, num_clients=8, body_of=asked, may_send=lambda: router.is_open).start()
    time.sleep(BUSY_S + 0.1 * (number % 5))
    server.process.send_signal(signal.SIGTERM)
    closed_s = time.monotonic() + LAME_DUCK_S
    time.sleep(LONG_AFTER_S)
    answers = [_ask_long(server.url)]
    ended_s = [time.monotonic()]
    load.stop_when_done()
    answers += [answer for _, answer in load.answers]
    num_late = sum(at_s > closed_s for at_s in ended_s + load.ended_s)
    faults = [_told(answer) for answer in answers if getattr(answer, "status_code", 0) != 200]
    if not num_late:
        faults.append("every request was over when the listener closed, so nothing was tried")
    server.http.close()
    if (code := server.process.wait(EXIT_S)) != 0:
        faults.append(f"exit code {code}")
    return len(answers), num_late, faults


def _ask_long(url: str) -> httpx.Response | httpx.TransportError:
    try:
        return httpx.post(f"{url}{EMBEDDINGS}", json=LONG, timeout=TIMEOUT_S)
    except httpx.TransportError as error:
        return error


@line(
    16,
    "SIGTERM under load, router lagging 0.7 s",
    "0 accepted requests lost, exit code 0",
    sizes=(20, 200),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """So many drains, two at a time."""
    with ThreadPoolExecutor(NUM_AT_ONCE) as pool:
        drains = list(pool.map(lambda number: one_drain(folder, number), range(size)))
    faults = [fault for _, _, found in drains for fault in found]
    num_sent, num_late = sum(sent for sent, _, _ in drains), sum(late for _, late, _ in drains)
    told = f"{num_sent} requests accepted, {num_late} answered after the listener had closed, {len(faults)} lost"
    return Result(size, len(faults), [told, *faults[:5]])


def _told(answer: httpx.Response | httpx.TransportError) -> str:
    return f"status {answer.status_code}" if isinstance(answer, httpx.Response) else type(answer).__name__
