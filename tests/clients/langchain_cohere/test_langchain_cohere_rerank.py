"""LangChain's `CohereRerank`: the base URL, and `/v2/rerank` through Cohere's second client."""

from langchain_cohere import CohereRerank
from langchain_core.documents import Document

from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, Plain, assert_texts_ranked
from tests.clients.relay import Relay


def test_documents_are_put_in_the_servers_order(relay: Relay, plain: Plain) -> None:
    reranker = CohereRerank(model=MODEL, base_url=relay.url, cohere_api_key="unused", top_n=2)
    found = reranker.compress_documents([Document(text) for text in CANDIDATES], LOOKED_FOR)
    assert_texts_ranked([(one.page_content, one.metadata["relevance_score"]) for one in found], plain, top_n=2)
    assert [sent.path for sent in relay.sent] == ["/v2/rerank"]
