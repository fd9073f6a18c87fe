"""SIGTERM to two fronts: not ready first, still taking requests for a while, then finishing them; exit code 0."""

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.conftest import CHECKPOINT, LiveServer, until
from tests.faults.server import faulty_environ, slowed
from tests.two_fronts import MANY, all_are_ready

pytestmark = pytest.mark.slow

EMBEDDINGS = "/v1/embeddings"
BODY = {"input": "a text on its way"}
WAIT_S = 30


@dataclass
class Going:
    """A server that is about to be told to go."""

    server: LiveServer
    faults: Path

    def term(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.server.process.send_signal(number)

    def ask_slowly(self, seconds: float) -> "Asking":
        """A request that the engine is in the middle of, for so long."""
        with slowed(self.faults, seconds) as slowing:
            asking = Asking(self.server.url)
            until(slowing.exists, "the step's beginning")
        return asking

    def exit_code(self) -> int:
        self.server.http.close()
        return self.server.process.wait(WAIT_S)


class Asking:
    """A request in a thread of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._answers: list[httpx.Response | httpx.TransportError] = []
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self._answers.append(httpx.post(self._url + EMBEDDINGS, json=BODY, timeout=WAIT_S))
        except httpx.TransportError as error:
            self._answers.append(error)

    def end(self) -> httpx.Response | httpx.TransportError:
        self._thread.join()
        return self._answers[0]

    def answer(self) -> httpx.Response:
        end = self.end()
        assert isinstance(end, httpx.Response), end
        return end


@pytest.fixture
def going(request: pytest.FixtureRequest, start_server: Callable[..., LiveServer], tmp_path: Path) -> Going:
    flags = ("--fronts", "2", "--model", str(CHECKPOINT), "--known-answer-s", "600", *getattr(request, "param", ()))
    going = Going(start_server(*flags, env=faulty_environ(tmp_path)).wait_until_ready(), tmp_path)
    until(lambda: all_are_ready(going.server), "both fronts ready")
    return going


@pytest.mark.parametrize("going", [("--lame-duck-s", "4")], indirect=True)
def test_the_probe_turns_first_and_connections_are_still_taken(going: Going) -> None:
    url, kept = going.server.url, going.server.http
    assert "connection" not in kept.post(EMBEDDINGS, json=BODY).headers
    began_s = time.monotonic()
    going.term()
    probes = [f"{url}/readyz", "/readyz"]  # of either front, which hear of it from the main process
    until(lambda: [httpx.get(probes[0]).status_code, kept.get(probes[1]).status_code] == [503, 503], "a turned probe")
    assert httpx.get(probes[0]).json()["status"] == "draining"
    assert httpx.get(f"{url}/livez").status_code == 200
    for answer in (httpx.post(url + EMBEDDINGS, json=BODY), kept.post(EMBEDDINGS, json=BODY)):
        assert answer.status_code == 200
        assert answer.headers["connection"] == "close"
    while is_accepting(url):
        time.sleep(0.02)
    assert time.monotonic() - began_s > 3.5
    assert going.exit_code() == 0


def is_accepting(url: str) -> bool:
    try:
        return httpx.get(f"{url}/livez").is_success
    except httpx.TransportError:  # refused; or reset, when it stood in the backlog of the listener that closed
        return False


def test_who_was_accepted_is_answered(going: Going) -> None:
    first = going.ask_slowly(6.0)
    asked = [first, *(Asking(going.server.url) for _ in range(MANY))]  # some at either front
    until(lambda: going.server.metric("cenote_queue_inputs") >= MANY, "those behind the first")
    going.term()
    assert [one.answer().status_code for one in asked] == [200] * len(asked)
    assert going.exit_code() == 0
    assert "Traceback" not in going.server.log.read_text()


@pytest.mark.parametrize("going", [("--drain-timeout-s", "0.5")], indirect=True)
def test_requests_longer_than_the_drain_get_server_draining(going: Going) -> None:
    asking = going.ask_slowly(60.0)
    going.term()
    answer = asking.answer()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "server_draining")
    assert int(answer.headers["retry-after"]) >= 1
    assert going.exit_code() == 0
    assert "Traceback" not in going.server.log.read_text()


@pytest.mark.parametrize("going", [("--lame-duck-s", "30")], indirect=True)
def test_a_second_signal_stops_at_once(going: Going) -> None:
    asking = going.ask_slowly(60.0)
    going.term()
    until(lambda: going.server.status("/readyz") == 503, "a front that says that it ends")
    began_s = time.monotonic()
    going.term(signal.SIGINT)
    assert isinstance(asking.end(), httpx.TransportError)
    assert going.exit_code() == 0
    assert time.monotonic() - began_s < 10
    assert "Traceback" not in going.server.log.read_text()


@pytest.mark.parametrize("going", [("--lame-duck-s", "30")], indirect=True)
def test_a_person_at_the_terminal_waits_for_no_lame_duck(going: Going) -> None:
    began_s = time.monotonic()
    going.term(signal.SIGINT)
    assert going.exit_code() == 0
    assert time.monotonic() - began_s < 15
