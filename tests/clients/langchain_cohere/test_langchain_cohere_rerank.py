"""LangChain's `CohereRerank`: the base URL, and `/v2/rerank` through Cohere's second client."""

import pytest
from langchain_cohere import CohereRerank
from langchain_core.documents import Document

from tests.clients.plain import MODEL, Plain, ranks
from tests.clients.relay import Relay

QUERY = "a red circle"
TEXTS = ["two green triangles", "a red circle beside a square", "a blue star"]


def test_documents_are_put_in_the_servers_order(relay: Relay, plain: Plain) -> None:
    reranker = CohereRerank(model=MODEL, base_url=relay.url, cohere_api_key="unused", top_n=2)
    found = reranker.compress_documents([Document(text) for text in TEXTS], QUERY)
    want = list(ranks(plain, QUERY, TEXTS).items())[:2]
    assert [one.page_content for one in found] == [TEXTS[index] for index, _ in want]
    assert [one.metadata["relevance_score"] for one in found] == pytest.approx([score for _, score in want], abs=1e-6)
    assert [sent.path for sent in relay.sent] == ["/v2/rerank"]
