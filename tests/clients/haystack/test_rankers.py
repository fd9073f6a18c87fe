"""Haystack's rankers that ask over HTTP: of Cohere, Jina, vLLM and text-embeddings-inference (TEI)."""

import asyncio
from typing import Any

import pytest
from cohere.errors import NotFoundError
from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.rankers.cohere import CohereRanker
from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker, TruncationDirection
from haystack_integrations.components.rankers.jina import JinaRanker
from haystack_integrations.components.rankers.vllm import VLLMRanker

from tests.clients.client_page import page_client
from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, Plain, assert_texts_ranked
from tests.clients.relay import Relay

NAMES = {each.__name__: each for each in (CohereRanker, HuggingFaceTEIRanker, JinaRanker, VLLMRanker, Secret)}
PATHS = {
    "cohere-haystack": "/v2/rerank",
    "huggingface-api-haystack": "/rerank",
    "jina-haystack": "/v1/rerank",
    "vllm-haystack": "/v1/rerank",
}
"""Paths that each calls, set up as its page says."""
DOCUMENTS = [Document(id=str(i), content=text) for i, text in enumerate(CANDIDATES)]


def best(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(document.content, document.score) for document in answer["documents"]]


@pytest.mark.parametrize("package", PATHS)
def test_the_pages_line_is_enough(package: str, relay: Relay, plain: Plain) -> None:
    ranker = page_client(package, relay.url, **NAMES)
    assert_texts_ranked(best(ranker.run(query=LOOKED_FOR, documents=DOCUMENTS)), plain)
    assert_texts_ranked(best(ranker.run(query=LOOKED_FOR, documents=DOCUMENTS, top_k=2)), plain, top_n=2)
    assert [sent.path for sent in relay.sent] == [PATHS[package]] * 2


@pytest.mark.parametrize("package", PATHS)
def test_the_async_way_gets_the_same(package: str, plain: Plain) -> None:
    ranker = page_client(package, plain.url, **NAMES)
    assert_texts_ranked(best(asyncio.run(ranker.run_async(query=LOOKED_FOR, documents=DOCUMENTS))), plain)


def test_what_stands_beside_the_results_is_there(plain: Plain) -> None:
    for package in ("jina-haystack", "vllm-haystack"):
        meta = page_client(package, plain.url, **NAMES).run(query=LOOKED_FOR, documents=DOCUMENTS)["meta"]
        assert meta["model"] == MODEL
        assert meta["usage"]["total_tokens"] > 0


def test_fields_of_our_own_pass_through_the_way_of_vllm(plain: Plain) -> None:
    how: dict[str, Any] = {"instruction": "Represent the colors of the image.", "max_tokens_per_doc": 3}
    ranker = VLLMRanker(model=MODEL, api_base_url=f"{plain.url}/v1", extra_parameters=how)
    assert_texts_ranked(best(ranker.run(query=LOOKED_FOR, documents=DOCUMENTS)), plain, **how)


def test_tei_cuts_the_end_that_is_said(relay: Relay, plain: Plain) -> None:
    ranker = HuggingFaceTEIRanker(url=relay.url, raw_scores=True)
    answer = ranker.run(query=LOOKED_FOR, documents=DOCUMENTS, truncation_direction=TruncationDirection.LEFT)
    assert_texts_ranked(best(answer), plain)
    how = ("raw_scores", "truncate", "truncation_direction")
    assert [[sent.body[name] for name in how] for sent in relay.sent] == [[True, True, "Left"]]


@pytest.mark.parametrize(
    ("package", "error"),
    [("cohere-haystack", NotFoundError), ("jina-haystack", RuntimeError), ("vllm-haystack", RuntimeError)],
)
def test_a_refusal_has_our_words(package: str, error: type[Exception], plain: Plain) -> None:
    ranker = page_client(package, plain.url, **NAMES)
    ranker.model = ranker.model_name = "none"
    with pytest.raises(error) as caught:
        ranker.run(query=LOOKED_FOR, documents=DOCUMENTS)
    wrong = {"query": LOOKED_FOR, "documents": CANDIDATES, "model": "none"}
    assert plain.message("/rerank", wrong) in str(caught.value)


def test_a_refusal_of_teis_form_has_our_words_too(plain: Plain) -> None:
    with pytest.raises(RuntimeError) as caught:
        HuggingFaceTEIRanker(url=plain.url).run(query=LOOKED_FOR, documents=[Document(id="none")])
    assert plain.message("/rerank", {"query": LOOKED_FOR, "texts": [None]}) in str(caught.value)
