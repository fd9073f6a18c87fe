"""Requests that cannot be done by their deadline at the measured rate: refused on every route, before anything runs.

The server believes that it does a hundred tokens in a second, so a request with ten seconds may have some two thousand.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, LiveServer

pytestmark = pytest.mark.slow

HURRY = {"x-request-timeout": "10"}
WORDS = "some words of a text that is long enough to be many tokens "
LONG = [f"{number} {WORDS * 12}" for number in range(30)]
"""Some five thousand tokens."""
FEW = [f"{number} {WORDS * 12}" for number in range(2)]
MANY = [f"{number} {WORDS * 2}" for number in range(600)]
"""More inputs than a forward has, which would run in parts."""

TEXTS: dict[str, Callable[[list[str]], tuple[str, dict[str, Any]]]] = {
    "input": lambda texts: ("/v1/embeddings", {"input": texts}),
    "inputs": lambda texts: ("/v1/embeddings", {"inputs": [_item(text) for text in texts]}),
    "messages": lambda texts: ("/v1/embeddings", {"messages": [[{"role": "user", "content": text}] for text in texts]}),
    "per item": lambda texts: ("/v1/embeddings", {"input": texts, "on_error": "per_item"}),
    "late chunking": lambda texts: ("/v1/embeddings", {"input": texts, "late_chunking": True}),
    "v2": lambda texts: ("/v2/embed", {"texts": texts}),
    "v1": lambda texts: ("/v1/embed", {"texts": texts}),
    "tei": lambda texts: ("/embed", {"inputs": texts}),
    "v1 rerank": lambda texts: ("/v1/rerank", {"query": "a", "documents": texts}),
    "v2 rerank": lambda texts: ("/v2/rerank", {"query": "a", "documents": texts}),
    "rerank": lambda texts: ("/rerank", {"query": "a", "texts": texts}),
    "ranking": lambda texts: ("/v1/ranking", {"query": "a", "passages": texts}),
    "score": lambda texts: ("/score", {"queries": texts, "documents": texts}),
    "v1 score": lambda texts: ("/v1/score", {"queries": "a", "documents": texts}),
}


def _item(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@pytest.fixture(scope="module")
def slow(start_server: Callable[..., LiveServer]) -> LiveServer:
    flags = ("--model", str(CHECKPOINT), "--max-batch-tokens", "512", "--result-cache-bytes", "1MiB")
    return start_server(*flags, env=customized_environ(Path(__file__).parent / "slow_rates")).wait_until_ready()


def num_run(server: LiveServer) -> float:
    """Tokens of all forwards."""
    return server.metric("cenote_batch_tokens_sum")


def assert_too_much(answer: httpx.Response, least_tokens: int) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (504, "deadline_exceeded"), error["message"]
    found = re.match(
        r"(\d+) tokens cannot be done in time: at (\d+) tokens per second, .* they take (\d+) s, and .* of 10 s are",
        error["message"],
    )
    assert found, error["message"]
    num_tokens, _, seconds = map(int, found.groups())
    assert num_tokens > least_tokens
    assert seconds > 20
    assert answer.headers["x-should-retry"] == "false"
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if kind != "late chunking"])
def test_every_route_refuses_what_cannot_be_done_in_time(slow: LiveServer, kind: str) -> None:
    before = num_run(slow)
    path, body = TEXTS[kind](LONG)
    assert_too_much(slow.http.post(path, json=body, headers=HURRY), 2000)
    assert num_run(slow) == before


@pytest.mark.parametrize("kind", [kind for kind in TEXTS if kind != "late chunking"])
def test_what_may_be_done_is(slow: LiveServer, kind: str) -> None:
    path, body = TEXTS[kind](FEW)
    slow.http.post(path, json=body, headers=HURRY).raise_for_status()


def test_a_job_that_would_run_in_parts_is_refused_before_any_has(slow: LiveServer) -> None:
    before = num_run(slow)
    assert_too_much(slow.http.post("/v1/embeddings", json={"input": MANY}, headers=HURRY), 5000)
    assert num_run(slow) == before


def test_what_is_kept_or_alike_counts_not(slow: LiveServer) -> None:
    texts = [f"kept {text}" for text in LONG]
    answer = slow.http.post("/v1/embeddings", json={"input": texts})  # three hundred seconds would do
    answer.raise_for_status()
    slow.http.post("/v1/embeddings", json={"input": texts}, headers=HURRY).raise_for_status()
    slow.http.post("/v1/embeddings", json={"input": ["again " + LONG[0]] * 30}, headers=HURRY).raise_for_status()


def test_what_texts_begin_with_in_common_counts_once(slow: LiveServer) -> None:
    """Nobody here says whether the model can share it."""
    texts = [f"{WORDS * 6} {number}" for number in range(50)]
    assert slow.http.post("/tokenize", json={"input": texts}).json()["count"] > 4000
    slow.http.post("/v2/embed", json={"texts": texts}, headers=HURRY).raise_for_status()
