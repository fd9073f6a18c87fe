"""LangChain's embeddings for NVIDIA NIM: the base URL with `/v1`. It always sends `input_type` and `truncate`."""

from typing import Any

import pytest
from langchain_nvidia_ai_endpoints import NVIDIAEmbeddings

from tests.clients.contract import AsksAtOnce, Instructs, ShortensVectors, SplitsTexts
from tests.clients.plain import MODEL, TEXTS, Plain, assert_same


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
