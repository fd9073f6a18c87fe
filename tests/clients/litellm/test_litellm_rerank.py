"""LiteLLM's `rerank`: `hosted_vllm/`, `cohere/`, `jina_ai/`, `infinity/` or `voyage/` before the model's name.

Not `huggingface/`, which asks that hub for a tokenizer; `tests/journey/test_score.py` sends its body.
"""

from typing import Any

import litellm
import pytest

from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, Plain, assert_ranked
from tests.clients.relay import Relay

PATHS = {"hosted_vllm": "/rerank", "cohere": "/v2/rerank", "jina_ai": "/v1/rerank"}
"""Paths that each provider calls, given the address alone."""


def rerank(provider: str, url: str, **more: Any) -> Any:
    return litellm.rerank(
        model=f"{provider}/{MODEL}", api_base=url, api_key="unused", query=LOOKED_FOR, documents=CANDIDATES, **more
    )


def ranking(answer: Any) -> list[tuple[int, float]]:
    return [(one["index"], one["relevance_score"]) for one in answer.results]


@pytest.mark.parametrize("provider", PATHS)
def test_every_way_gets_the_servers_order(provider: str, relay: Relay, plain: Plain) -> None:
    answer = rerank(provider, relay.url)
    assert_ranked(ranking(answer), plain)
    assert [one["document"]["text"] for one in answer.results] == [CANDIDATES[one["index"]] for one in answer.results]
    assert [sent.path for sent in relay.sent] == [PATHS[provider]]


@pytest.mark.parametrize("provider", PATHS)
def test_the_best_two_are_enough(provider: str, plain: Plain) -> None:
    assert_ranked(ranking(rerank(provider, plain.url, top_n=2)), plain, top_n=2)


def test_an_instruction_and_limits_pass_through_the_way_of_vllm(plain: Plain) -> None:
    how = {"instruction": "Represent the colors of the image.", "max_tokens_per_doc": 3, "max_tokens_per_query": 2}
    assert_ranked(ranking(rerank("hosted_vllm", plain.url, **how)), plain, **how)


@pytest.mark.parametrize("top_n", [2, len(CANDIDATES)])
def test_the_way_of_voyage_gets_the_servers_order(top_n: int, relay: Relay, plain: Plain) -> None:
    """With `top_n`: without it nothing in the body says that Voyage's answer is wanted."""
    answer = rerank("voyage", f"{relay.url}/v1", top_n=top_n)
    assert_ranked(ranking(answer), plain, top_n=top_n)
    assert [one["document"]["text"] for one in answer.results] == [CANDIDATES[one["index"]] for one in answer.results]
    assert [sent.path for sent in relay.sent] == ["/v1/rerank"]


@pytest.mark.parametrize("top_n", [None, 2])
def test_the_way_of_infinity_gets_the_servers_order(top_n: int | None, relay: Relay, plain: Plain) -> None:
    """Without documents in the answer: infinity's are strings, and its body is that of all others."""
    answer = rerank("infinity", relay.url, top_n=top_n, return_documents=False)
    assert_ranked(ranking(answer), plain, top_n=top_n)
    assert [sent.path for sent in relay.sent] == ["/rerank"]
