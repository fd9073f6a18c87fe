"""Two tenants, two models: a flood of both keeps nobody waiting at either, nor one model's queue from the other."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest

from tests.builders import write_keys
from tests.conftest import LiveServer
from tests.several_models import write_tables

pytestmark = pytest.mark.slow

NUM_FLOODING = 6
NUM_ASKED = 8
NUM_ITEMS = 48
MAX_PASSED = 2
"""Large requests that may be answered while a small one of another tenant waits: the one under way, and one more."""
KEYS = {"loud": "loud-key-of-the-test", "calm": "calm-key-of-the-test"}


@pytest.fixture(scope="module")
def both(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("tables")
    keys = write_keys(folder / "keys.jsonl", KEYS)
    flags = (*write_tables(folder), "--api-keys", str(keys), "--max-batch-tokens", "2048")
    server = start_server(*flags).wait_until_ready()
    yield server
    assert server.stop() == 0


def large(number: int) -> list[tuple[str, dict[str, Any]]]:
    words = [f"thing {number} {index} " * 12 for index in range(NUM_ITEMS)]
    return [("/v1/embeddings", {"input": words}), ("/v1/rerank", {"query": "a thing", "documents": words})]


def small(number: int) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("/v1/embeddings", {"input": f"small {number}"}),
        ("/v1/rerank", {"query": f"small {number}", "documents": ["a door"]}),
    ]


def client(server: LiveServer, tenant: str) -> httpx.AsyncClient:
    head = {"authorization": f"Bearer {KEYS[tenant]}"}
    return httpx.AsyncClient(base_url=server.url, timeout=300, headers=head, limits=httpx.Limits(max_connections=None))


async def flood_and_ask(server: LiveServer) -> dict[str, list[int]]:
    """By route, how many large requests were answered while each small one waited."""
    num_answered = {"/v1/embeddings": 0, "/v1/rerank": 0}
    passed: dict[str, list[int]] = {path: [] for path in num_answered}
    is_over = False

    async def flood(http: httpx.AsyncClient, first: int, which: int) -> None:
        number = first
        while not is_over:
            path, body = large(number)[which]
            assert (await http.post(path, json=body)).status_code == 200
            num_answered[path] += 1
            number += NUM_FLOODING

    async with client(server, "loud") as loud, client(server, "calm") as calm:
        floods = [asyncio.create_task(flood(loud, one, which)) for one in range(NUM_FLOODING) for which in (0, 1)]
        while not all(num_answered.values()):
            await asyncio.sleep(0.05)
        for number in range(NUM_ASKED):
            for path, body in small(number):
                before = num_answered[path]
                answer = await calm.post(path, json=body)
                assert answer.status_code == 200, answer.text
                passed[path].append(num_answered[path] - before)
        is_over = True
        await asyncio.gather(*floods)
    return passed


def test_a_flood_of_both_models_keeps_nobody_waiting_at_either(both: LiveServer) -> None:
    for path, passed in asyncio.run(flood_and_ask(both)).items():
        assert median(passed) <= MAX_PASSED, (path, passed)


def test_a_full_queue_of_one_model_leaves_the_others_open(
    start_server: Callable[..., LiveServer], tmp_path: Path
) -> None:
    server = start_server(*write_tables(tmp_path, "max-queue-requests = 64\n")).wait_until_ready()

    async def ask() -> tuple[list[int], list[int]]:
        async with httpx.AsyncClient(
            base_url=server.url, timeout=300, limits=httpx.Limits(max_connections=None)
        ) as http:
            many = [asyncio.create_task(http.post(path, json=body)) for path, body in (large(n)[1] for n in range(8))]
            codes: list[int] = []
            while not all(one.done() for one in many):
                codes.append((await http.post("/v1/embeddings", json={"input": "a word"})).status_code)
            return [one.result().status_code for one in many], codes

    many, codes = asyncio.run(ask())
    assert set(many) == {200, 503}
    assert set(codes) == {200}
    assert server.stop() == 0
