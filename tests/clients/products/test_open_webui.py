"""Open WebUI's requests, made as its functions make them and read as they read them.

Source: open-webui/open-webui, `backend/open_webui/retrieval/utils.py` (`generate_openai_batch_embeddings` and its
siblings) at 0013f5c, and `retrieval/models/external.py` at ab233f8.
"""

from typing import Any

import pytest
import requests

from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, QUERY, TEXTS, Plain, assert_ranked, assert_same

HEADERS = {
    "Content-Type": "application/json",
    "Authorization": "Bearer unused",
    "X-OpenWebUI-User-Name": "Ada%20L",
    "X-OpenWebUI-User-Id": "1",
    "X-OpenWebUI-User-Email": "ada@example.com",
    "X-OpenWebUI-User-Role": "user",
}


def ask(url: str, body: dict[str, Any], **headers: str) -> Any:
    answer = requests.post(url, headers=HEADERS | headers, json=body, timeout=60)
    answer.raise_for_status()
    return answer.json()


@pytest.mark.parametrize("prefix", [None, QUERY])
def test_its_openai_engine(prefix: str | None, plain: Plain) -> None:
    """With `RAG_EMBEDDING_PREFIX_FIELD_NAME=instruction` the prefix is a field."""
    more = {} if prefix is None else {"instruction": prefix}
    answer = ask(f"{plain.url}/v1/embeddings", {"input": TEXTS, "model": MODEL} | more)
    assert_same([one["embedding"] for one in answer["data"]], plain.vectors({"input": TEXTS} | more))


def test_its_ollama_engine(plain: Plain) -> None:
    answer = ask(f"{plain.url}/api/embed", {"input": TEXTS, "model": MODEL, "truncate": True})
    assert_same(answer["embeddings"], plain.vectors({"input": TEXTS}))


def test_its_azure_engine(plain: Plain) -> None:
    url = f"{plain.url}/openai/deployments/{MODEL}/embeddings?api-version=2023-05-15"
    answer = ask(url, {"input": TEXTS}, **{"api-key": "unused"})
    assert_same([one["embedding"] for one in answer["data"]], plain.vectors({"input": TEXTS}))


def test_its_external_reranker(plain: Plain) -> None:
    body = {"model": MODEL, "query": LOOKED_FOR, "documents": CANDIDATES, "top_n": len(CANDIDATES)}
    results = sorted(ask(f"{plain.url}/v1/rerank", body)["results"], key=lambda one: one["index"])
    scores = [one["relevance_score"] for one in results]
    assert_ranked(sorted(enumerate(scores), key=lambda one: -one[1]), plain)
