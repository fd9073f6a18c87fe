"""The engine is killed under load: who waits is told, nobody gets another's answer, and the service heals by itself."""

import asyncio
import base64
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.builders import npy_bytes
from tests.conftest import CHECKPOINT, TOLERANCE, LiveServer, from_base64, image, image_part, text_part

pytestmark = pytest.mark.slow

NUM_CLIENTS = 40
NUM_ITEMS = 120
NUM_KILLS = 2
HEAL_S = 240
PAUSE_S = 0.05
"""Wait of a client after a 503; a real one would wait for Retry-After."""


@pytest.fixture(scope="module")
def mortal(start_server: Callable[..., LiveServer]) -> Iterator[LiveServer]:
    """A server of its own. Without a cache and with an arena of few images, pixels are on their way at any moment."""
    flags = ("--encoder-cache-bytes", "0", "--pixel-arena-bytes", "200000")
    server = start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()
    yield server
    if server.process.poll() is None:
        server.stop()


def item(index: int) -> dict[str, Any]:
    """Texts, images with a text, and features with a text; each like no other."""
    words = text_part(f"question {index} of {index * 7919}")
    first = ([image_part(image(index, 96, 96))], [features(index)], [])[index % 3]
    return {"content": [*first, words]}


def features(seed: int) -> dict[str, Any]:
    """Features of an image of 96 x 96 pixels that nobody drew."""
    file = npy_bytes(np.random.default_rng(seed).normal(size=(9, 384)).astype("<f2"))
    embeds = {"image_embeds": base64.b64encode(file).decode(), "image_grid_thw": [1, 6, 6]}
    return {"type": "image_embeds", "image_embeds": embeds}


@dataclass
class Load:
    """Clients that ask without pause, and everything that they were told."""

    url: str
    answers: list[tuple[int, httpx.Response]] = field(default_factory=list)
    health: list[tuple[int, int]] = field(default_factory=list)
    is_over: bool = False

    async def client(self, http: httpx.AsyncClient, number: int) -> None:
        index = number
        while not self.is_over:
            body = {"inputs": [item(index % NUM_ITEMS)], "encoding_format": "base64"}
            answer = await http.post("/v1/embeddings", json=body)
            self.answers.append((index % NUM_ITEMS, answer))
            index += NUM_CLIENTS + 1
            await asyncio.sleep(0 if answer.status_code == 200 else PAUSE_S)

    async def watch(self, http: httpx.AsyncClient) -> None:
        while not self.is_over:
            answers = [await http.get(path) for path in ("/livez", "/readyz")]
            self.health.append((answers[0].status_code, answers[1].status_code))
            await asyncio.sleep(PAUSE_S)

    async def until(self, happened: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + HEAL_S
        while not happened():
            assert time.monotonic() < deadline_s, f"never came: {what}"
            await asyncio.sleep(PAUSE_S)

    def num_right(self) -> int:
        return sum(answer.status_code == 200 for _, answer in self.answers)

    async def run(self, kill: Callable[[], None]) -> None:
        """Load; kill; wait until it is ready again and answers; once more."""
        limits = httpx.Limits(max_connections=NUM_CLIENTS + 2)
        async with (
            httpx.AsyncClient(base_url=self.url, timeout=HEAL_S, limits=limits) as http,
            asyncio.TaskGroup() as tasks,
        ):
            for number in range(NUM_CLIENTS):
                tasks.create_task(self.client(http, number))
            tasks.create_task(self.watch(http))
            for _ in range(NUM_KILLS):
                await self.more_answers()
                kill()
                await self.until(lambda: self.health[-1][1] == 503, "not ready")
                await self.until(lambda: self.health[-1][1] == 200, "ready again")
            await self.more_answers()
            self.is_over = True

    async def more_answers(self) -> None:
        enough = self.num_right() + 2 * NUM_CLIENTS
        await self.until(lambda: self.num_right() >= enough, "answers")


@pytest.fixture(scope="module")
def load(mortal: LiveServer) -> Load:
    load, pids = Load(mortal.url), set()

    def kill() -> None:
        pids.add(mortal.engine_pid())
        os.kill(mortal.engine_pid(), signal.SIGKILL)

    asyncio.run(load.run(kill))
    assert len(pids | {mortal.engine_pid()} - {0}) == NUM_KILLS + 1
    return load


def test_waiting_requests_get_a_retry_after(load: Load) -> None:
    refused = [answer for _, answer in load.answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} == {503}
    assert {answer.json()["error"]["code"] for answer in refused} == {"engine_restarting"}
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert len(refused) >= NUM_KILLS * NUM_CLIENTS // 2


def test_every_answer_has_an_id_of_its_own(load: Load) -> None:
    ids = [answer.headers["x-request-id"] for _, answer in load.answers]
    assert len(set(ids)) == len(ids)


def test_the_probes_match_the_state_throughout(load: Load, mortal: LiveServer) -> None:
    assert {live for live, _ in load.health} == {200}
    ready = [status for _, status in load.health]
    turns = [b for a, b in zip([200, *ready], ready, strict=False) if a != b]
    assert turns == [503, 200] * NUM_KILLS
    assert mortal.metric("cenote_engine_restarts_total") == NUM_KILLS
    assert mortal.metric("cenote_engine_ready") == 1


def test_no_answer_belongs_to_anothers_question(load: Load, mortal: LiveServer) -> None:
    want = np.stack([mortal.vectors({"inputs": [item(index)]})[0] for index in range(NUM_ITEMS)])
    closest = (want @ want.T - 2 * np.eye(NUM_ITEMS)).max()
    assert closest < 0.9999, "the items must differ, or a swap would go unnoticed"
    right = [(index, answer.json()["data"][0]["embedding"]) for index, answer in load.answers if answer.is_success]
    assert len(right) > 3 * NUM_CLIENTS
    got = np.stack([from_base64(text) for _, text in right])
    np.testing.assert_allclose(got, want[[index for index, _ in right]], rtol=0, atol=TOLERANCE)


def test_nothing_is_left_behind_in_queue_or_arena(load: Load, mortal: LiveServer) -> None:
    """Pixels that a dead engine had been lent are taken back, those that it had asked for included."""
    mortal.vectors({"input": "the engine gives slots back with its next answer"})
    assert mortal.metric("cenote_queue_inputs") == 0
    assert mortal.metric("cenote_pixel_arena_bytes") == 0


def test_the_last_word_is_the_operators(load: Load, mortal: LiveServer) -> None:
    """SIGTERM ends both processes, and the front says that all went well."""
    engine = mortal.engine_pid()
    assert engine
    assert mortal.stop() == 0
    assert is_gone(engine)
    assert "Traceback" not in mortal.log.read_text()


def test_an_engine_does_not_outlive_its_front(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", str(CHECKPOINT)).wait_until_ready()
    engine = server.engine_pid()
    assert engine
    server.process.kill()
    server.process.wait()
    assert is_gone(engine)


def is_gone(pid: int, within_s: float = 10) -> bool:
    """True if a process has ended, or does so soon; one that nobody has waited for yet counts as ended."""
    deadline_s = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return not is_alive(pid)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
