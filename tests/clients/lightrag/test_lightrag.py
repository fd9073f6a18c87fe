"""LightRAG's embedding functions for OpenAI and Jina, and its rerank functions, as its server binds them."""

import asyncio
from functools import partial
from typing import Any, ClassVar

import aiohttp
import openai
import pytest
from lightrag.llm.jina import jina_embed
from lightrag.llm.openai import openai_embed
from lightrag.rerank import cohere_rerank, jina_rerank
from lightrag.utils import EmbeddingFunc

from tests.clients.client_page import page_client
from tests.clients.contract import AsksAtOnce, ShortensVectors
from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, TEXTS, Plain, assert_ranked, assert_same
from tests.clients.relay import Relay

RERANKS = {"lightrag-hku with Jina's rerank": "/v1/rerank", "lightrag-hku with Cohere's rerank": "/v2/rerank"}
NAMES = {"partial": partial, "cohere_rerank": cohere_rerank, "jina_rerank": jina_rerank}


class TestOpenAI(ShortensVectors, AsksAtOnce):
    package, names = "lightrag-hku", {"partial": partial, "openai_embed": openai_embed}
    sends: ClassVar = {"encoding_format": "base64", "model": MODEL}
    refusal = openai.BadRequestError
    num_busy = 1  # it waits for 4 s and more, whatever the answer says

    def made(self, url: str, dimensions: int = 256, **more: Any) -> EmbeddingFunc:
        asked = page_client(self.package, url, **self.names)
        return EmbeddingFunc(embedding_dim=dimensions, func=asked, send_dimensions=dimensions != 256, **more)

    def vectors(self, client: Any, texts: list[str]) -> Any:
        return asyncio.run(client(texts))

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        halves = await asyncio.gather(*(self.made(url)(half) for half in (texts[:60], texts[60:])))
        return [vector for half in halves for vector in half]


@pytest.mark.parametrize(("context", "input_type"), [("document", "document"), ("query", "query")])
def test_jinas_function_says_the_side(context: str, input_type: str, relay: Relay, plain: Plain) -> None:
    asked = partial(jina_embed.func, model=MODEL, base_url=f"{relay.url}/v1/embeddings", api_key="unused")
    embed = EmbeddingFunc(embedding_dim=64, func=asked, send_dimensions=True, supports_asymmetric=True)
    want = plain.vectors({"input": TEXTS, "dimensions": 64, "input_type": input_type})
    assert_same(asyncio.run(embed(TEXTS, context=context)), want)
    (sent,) = relay.sent
    assert (sent.body["task"], sent.body["embedding_type"]) in {
        (f"retrieval.{name}", "base64") for name in ("query", "passage")
    }


def ranking(answer: list[dict[str, Any]]) -> list[tuple[int, float]]:
    return [(one["index"], one["relevance_score"]) for one in answer]


@pytest.mark.parametrize("package", RERANKS)
def test_the_pages_line_ranks(package: str, relay: Relay, plain: Plain) -> None:
    rank = page_client(package, relay.url, **NAMES)
    assert_ranked(ranking(asyncio.run(rank(query=LOOKED_FOR, documents=CANDIDATES))), plain)
    assert_ranked(ranking(asyncio.run(rank(query=LOOKED_FOR, documents=CANDIDATES, top_n=2))), plain, top_n=2)
    assert [sent.path for sent in relay.sent] == [RERANKS[package]] * 2


def test_a_refused_rerank_has_our_words(plain: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = page_client("lightrag-hku with Jina's rerank", plain.url, **NAMES)
    monkeypatch.setattr(rank.func.__globals__["generic_rerank_api"].retry, "wait", lambda state: 0)
    with pytest.raises(Exception) as caught:
        asyncio.run(rank(query=LOOKED_FOR, documents=CANDIDATES, extra_body={"top_m": 2}))
    assert isinstance(caught.value.last_attempt.exception(), aiohttp.ClientResponseError)
    assert "`top_m`" in str(caught.value.last_attempt.exception())
