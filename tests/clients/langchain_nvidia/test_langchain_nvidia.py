"""LangChain's embeddings and reranker for NVIDIA NIM: the base URL with `/v1`.

Embeddings always have `input_type` and `truncate`; the reranker asks `/v1/ranking`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_nvidia_ai_endpoints import NVIDIAEmbeddings, NVIDIARerank

from tests.clients.client_page import page_client
from tests.clients.contract import AsksAtOnce, Instructs, ShortensVectors, SplitsTexts
from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, TEXTS, Plain, assert_ranked, assert_same, image
from tests.clients.relay import Relay


def embeddings_of(url: str, **more: Any) -> NVIDIAEmbeddings:
    return NVIDIAEmbeddings(model=MODEL, base_url=f"{url}/v1", api_key="unused", **more)


class TestNvidia(SplitsTexts, ShortensVectors, Instructs, AsksAtOnce):
    package, names = "langchain-nvidia-ai-endpoints", {"NVIDIAEmbeddings": NVIDIAEmbeddings}
    batches = (50, 50, 20)
    refusal = Exception
    num_busy = 0  # it waits for none

    def made(self, url: str, **more: Any) -> NVIDIAEmbeddings:
        return embeddings_of(url, **more)

    def vectors(self, client: NVIDIAEmbeddings, texts: list[str]) -> Any:
        return client.embed_documents(texts)

    def query(self, client: NVIDIAEmbeddings, text: str) -> Any:
        return client.embed_query(text)

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        return await embeddings_of(url).aembed_documents(texts)


def test_without_a_name_the_first_model_listed_is_taken(plain: Plain) -> None:
    embeddings = NVIDIAEmbeddings(base_url=f"{plain.url}/v1", api_key="unused")
    assert_same(embeddings.embed_documents(TEXTS), plain.vectors({"input": TEXTS}))


def test_a_long_text_is_refused_or_cut_as_truncate_says(plain: Plain) -> None:
    long = "a red circle and " * 20_000
    with pytest.raises(Exception, match=r"too long|tokens"):
        embeddings_of(plain.url).embed_documents([long])
    (vector,) = embeddings_of(plain.url, truncate="END").embed_documents([long])
    assert len(vector) > 0


def ranking(documents: Sequence[Document]) -> list[tuple[int, float]]:
    return [(int(one.id or ""), one.metadata["relevance_score"]) for one in documents]


@pytest.mark.parametrize("top_n", [2, len(CANDIDATES)])
def test_the_pages_line_ranks(top_n: int, relay: Relay, plain: Plain) -> None:
    rank = page_client("langchain-nvidia-ai-endpoints for reranking", relay.url, NVIDIARerank=NVIDIARerank)
    rank.top_n = top_n
    documents = [Document(id=str(i), page_content=text) for i, text in enumerate(CANDIDATES)]
    assert_ranked(ranking(rank.compress_documents(documents, LOOKED_FOR)), plain, top_n=top_n)
    assert [sent.path for sent in relay.sent] == ["/v1/ranking"]
    assert_ranked(ranking(asyncio.run(rank.acompress_documents(documents, LOOKED_FOR))), plain, top_n=top_n)


def test_a_document_may_have_an_image(plain: Plain) -> None:
    rank = NVIDIARerank(model=MODEL, base_url=f"{plain.url}/v1", api_key="unused", truncate="END")
    documents = [
        Document(id="0", page_content="two green triangles"),
        Document(id="1", page_content="a drawing", metadata={"image": image()}),
    ]
    items = ["two green triangles", {"text": "a drawing", "image": image()}]
    status, scored = plain.post("/score", {"queries": LOOKED_FOR, "documents": items})
    assert status == 200
    want = sorted(((i, one["score"]) for i, one in enumerate(scored["data"])), key=lambda one: -one[1])
    got = ranking(rank.compress_documents(documents, LOOKED_FOR))
    assert [i for i, _ in got] == [i for i, _ in want]
    assert [score for _, score in got] == pytest.approx([score for _, score in want], abs=1e-6)
