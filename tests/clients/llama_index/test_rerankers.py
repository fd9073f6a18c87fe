"""LlamaIndex's rerankers of Cohere, Jina and text-embeddings-inference (TEI): the base URL, each with its own end."""

import pytest
from cohere.errors import BadRequestError
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.cohere_rerank import CohereRerank
from llama_index.postprocessor.jinaai_rerank import JinaRerank
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

from tests.clients.client_page import page_client
from tests.clients.plain import CANDIDATES, LOOKED_FOR, Plain, assert_texts_ranked
from tests.clients.relay import Relay

CLASSES = {each.__name__: each for each in (CohereRerank, JinaRerank, TextEmbeddingInference)}
PATHS = {"cohere": "/v2/rerank", "jinaai": "/v1/rerank", "tei": "/rerank"}
"""Paths that each calls, set up as its page says."""


def reranker(name: str, url: str) -> BaseNodePostprocessor:
    return page_client(f"llama-index-postprocessor-{name}-rerank", url, **CLASSES)


def best(model: BaseNodePostprocessor, query: str = LOOKED_FOR) -> list[tuple[str, float]]:
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in CANDIDATES]
    return [(one.text, one.score) for one in model.postprocess_nodes(nodes, query_str=query)]


@pytest.mark.parametrize("name", PATHS)
def test_the_pages_line_is_enough(name: str, relay: Relay, plain: Plain) -> None:
    assert_texts_ranked(best(reranker(name, relay.url)), plain, top_n=2)
    assert [sent.path for sent in relay.sent] == [PATHS[name]]


@pytest.mark.parametrize(("name", "error"), [("cohere", BadRequestError), ("jinaai", RuntimeError)])
def test_a_refusal_has_our_words(name: str, error: type[Exception], plain: Plain) -> None:
    model = reranker(name, plain.url)
    model.top_n = 0
    with pytest.raises(error) as caught:
        best(model)
    wrong = {"query": LOOKED_FOR, "documents": CANDIDATES, "top_n": 0}
    assert plain.message("/v2/rerank", wrong) in str(caught.value)


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 1
    assert_texts_ranked(best(reranker("cohere", relay.url)), plain, top_n=2)
    assert len(relay.sent) == 2
