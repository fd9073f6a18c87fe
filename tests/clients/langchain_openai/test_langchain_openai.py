"""LangChain's `OpenAIEmbeddings`: the base URL, and `check_embedding_ctx_length=False`."""

from typing import Any, ClassVar

import openai
import pytest
import tiktoken_ext.openai_public
from langchain_openai import OpenAIEmbeddings
from langchain_qdrant import QdrantVectorStore

from tests.clients.contract import AsksAtOnce, ShortensVectors, SplitsTexts
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def embeddings(url: str, **settings: object) -> OpenAIEmbeddings:
    flag = {"check_embedding_ctx_length": False}
    return OpenAIEmbeddings(model=MODEL, base_url=f"{url}/v1", api_key="unused", **(flag | settings))


class TestOpenAIEmbeddings(SplitsTexts, ShortensVectors, AsksAtOnce):
    package, names = "langchain-openai", {"OpenAIEmbeddings": OpenAIEmbeddings}
    sends: ClassVar = {"encoding_format": "base64"}
    batches = (40, 40, 20)
    refusal = openai.BadRequestError

    def made(self, url: str, **more: Any) -> OpenAIEmbeddings:
        return embeddings(url, chunk_size=40, **more)

    def vectors(self, client: OpenAIEmbeddings, texts: list[str]) -> Any:
        return client.embed_documents(texts)

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        return await embeddings(url, chunk_size=50).aembed_documents(texts)


def test_a_query_is_a_bare_text_or_a_list_of_one(relay: Relay, plain: Plain) -> None:
    assert_same([embeddings(relay.url).embed_query("a red circle")], plain.vectors({"input": "a red circle"}))
    assert relay.inputs("input") in ([["a red circle"]], ["a red circle"])


def test_an_instruction_goes_in_as_extra_body(plain: Plain) -> None:
    model = embeddings(plain.url, model_kwargs={"extra_body": {"instruction": QUERY}})
    assert_same(model.embed_documents(TEXTS), plain.vectors({"input": TEXTS, "instruction": QUERY}))


def test_the_default_that_sends_token_ids_is_refused_with_the_setting_to_switch_off(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real encoding is a download; this one has the 256 bytes as its tokens, and its ids are ids all the same."""
    bytes_alone = {
        "name": "cl100k_base",
        "pat_str": r"\w+|\W+",
        "mergeable_ranks": {bytes([i]): i for i in range(256)},
        "special_tokens": {},
    }
    monkeypatch.setitem(tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS, "cl100k_base", lambda: bytes_alone)
    with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False") as caught:
        embeddings(relay.url, check_embedding_ctx_length=True).embed_documents(["red"])
    assert (caught.value.code, caught.value.param) == ("token_arrays_not_accepted", "input")
    assert relay.inputs("input") == [[list(b"red")]]


def test_qdrant_behind_it_finds_a_text_nearest_to_itself(plain: Plain) -> None:
    texts = numbered_texts(20)
    store = QdrantVectorStore.from_texts(texts, embeddings(plain.url), location=":memory:", collection_name="texts")
    for text in texts:
        (found, score), *_ = store.similarity_search_with_score(text, k=2)
        assert (found.page_content, score > 0.9999) == (text, True)
