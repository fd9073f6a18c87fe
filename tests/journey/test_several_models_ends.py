"""One model's engine is killed under load: requests for the other never notice, and its own are told to come again."""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
import pytest

from tests.conftest import TOLERANCE, LiveServer, from_base64, image, image_part
from tests.several_models import write_tables

pytestmark = pytest.mark.slow

NUM_CLIENTS = 12
HEAL_S = 240
PAUSE_S = 0.05


@pytest.fixture(scope="module")
def both(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    flags = (*write_tables(tmp_path_factory.mktemp("tables")), "--fronts", "2")
    server = start_server(*flags, "--encoder-cache-bytes", "0").wait_until_ready()
    yield server
    assert server.stop() == 0


def embedding(number: int) -> tuple[str, dict[str, Any]]:
    """Every third one has an image of its own."""
    parts = [image_part(image(number, 64, 64))] if number % 3 == 0 else []
    inputs = [{"content": [*parts, {"type": "text", "text": f"thing {number}"}]}]
    return "/v1/embeddings", {"inputs": inputs, "encoding_format": "base64"}


def pairs(number: int) -> tuple[str, dict[str, Any]]:
    return "/v1/rerank", {"query": f"thing {number}", "documents": ["a door", f"a horse {number}"]}


def numbers_of(answer: httpx.Response) -> np.ndarray:
    body = answer.json()
    if "data" in body:
        return from_base64(body["data"][0]["embedding"])
    return np.array([one["relevance_score"] for one in sorted(body["results"], key=lambda one: one["index"])])


@dataclass
class Load:
    """Clients of one model that ask without pause, and what they were told, by request."""

    request: Callable[[int], tuple[str, dict[str, Any]]]
    answers: list[tuple[int, httpx.Response]] = field(default_factory=list)
    is_over: bool = False

    async def client(self, http: httpx.AsyncClient, first: int) -> None:
        number = first
        while not self.is_over:
            path, body = self.request(number % 30)
            answer = await http.post(path, json=body)
            self.answers.append((number % 30, answer))
            number += NUM_CLIENTS + 1
            await asyncio.sleep(0 if answer.status_code == 200 else PAUSE_S)

    @property
    def num_well(self) -> int:
        return sum(answer.status_code == 200 for _, answer in self.answers)


async def until(happened: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + HEAL_S
    while not happened():
        assert time.monotonic() < deadline_s, f"never came: {what}"
        await asyncio.sleep(PAUSE_S)


async def kill_under_load(server: LiveServer, victim: str, loads: dict[str, Load]) -> list[dict[str, Any]]:
    """Run both loads, kill one engine, go on until both have answered again; what `/readyz` said meanwhile."""
    health: list[dict[str, Any]] = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.url, timeout=HEAL_S, limits=limits) as http:
        running = [asyncio.create_task(load.client(http, one)) for load in loads.values() for one in range(NUM_CLIENTS)]

        async def watch() -> None:
            while True:
                answer = await http.get("/readyz")
                health.append({"code": answer.status_code, **answer.json()})
                await asyncio.sleep(PAUSE_S)

        watching = asyncio.create_task(watch())
        await until(lambda: all(load.num_well >= 20 for load in loads.values()), "answers of both")
        old = server.engine_pid(victim)
        os.kill(old, signal.SIGKILL)
        await until(lambda: server.engine_pid(victim) not in (0, old), "another engine")
        before = {name: load.num_well for name, load in loads.items()}
        await until(lambda: all(load.num_well >= before[name] + 20 for name, load in loads.items()), "answers after it")
        for load in loads.values():
            load.is_over = True
        await asyncio.gather(*running)
        watching.cancel()
    return health


@pytest.mark.parametrize(("victim", "other"), [("search", "rank"), ("rank", "search")])
def test_the_other_model_never_notices(both: LiveServer, victim: str, other: str) -> None:
    with httpx.Client(base_url=both.url, timeout=HEAL_S) as http:
        alone = {
            name: [numbers_of(http.post(path, json=body)) for path, body in map(request, range(30))]
            for name, request in (("search", embedding), ("rank", pairs))
        }
    loads = {"search": Load(embedding), "rank": Load(pairs)}
    health = asyncio.run(kill_under_load(both, victim, loads))
    codes = Counter(answer.status_code for _, answer in loads[other].answers)
    assert set(codes) == {200}, codes
    for _, answer in loads[victim].answers:
        if answer.status_code != 200:
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] in ("engine_restarting", "overloaded")
            assert int(answer.headers["retry-after"]) >= 1
    for name, load in loads.items():
        for number, answer in load.answers:
            if answer.status_code == 200:
                np.testing.assert_allclose(numbers_of(answer), alone[name][number], rtol=0, atol=TOLERANCE)
    assert {one["code"] for one in health} == {200}
    down = [one for one in health if one["detail"]]
    assert down
    assert all(one["detail"].startswith(f"{victim}: ") for one in down)
    states = {model["name"]: model["status"] for model in down[0]["models"]}
    assert states[victim] != "ok"
    assert states[other] == "ok"
