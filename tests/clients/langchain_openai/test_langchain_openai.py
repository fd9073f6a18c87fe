"""LangChain's `OpenAIEmbeddings`: the base URL, and `check_embedding_ctx_length=False`."""

import asyncio

import openai
import pytest
import tiktoken_ext.openai_public
from langchain_openai import OpenAIEmbeddings
from langchain_qdrant import QdrantVectorStore

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay


def embeddings(url: str, **settings: object) -> OpenAIEmbeddings:
    flag = {"check_embedding_ctx_length": False}
    return OpenAIEmbeddings(model=MODEL, base_url=f"{url}/v1", api_key="unused", **(flag | settings))


def test_the_pages_line_is_enough(plain: Plain) -> None:
    model = page_client("langchain-openai", plain.url, OpenAIEmbeddings=OpenAIEmbeddings)
    assert_same(model.embed_documents(TEXTS), plain.vectors({"input": TEXTS}))


def test_texts_keep_their_order_and_an_empty_one_its_place(relay: Relay, plain: Plain) -> None:
    assert_same(embeddings(relay.url).embed_documents(TEXTS), plain.vectors({"input": TEXTS}))
    assert relay.inputs("input") == [TEXTS]
    assert relay.inputs("encoding_format") == ["base64"]


def test_a_query_is_a_bare_text_or_a_list_of_one(relay: Relay, plain: Plain) -> None:
    assert_same([embeddings(relay.url).embed_query("a red circle")], plain.vectors({"input": "a red circle"}))
    assert relay.inputs("input") in ([["a red circle"]], ["a red circle"])


def test_an_instruction_goes_in_as_extra_body(plain: Plain) -> None:
    model = embeddings(plain.url, model_kwargs={"extra_body": {"instruction": QUERY}})
    assert_same(model.embed_documents(TEXTS), plain.vectors({"input": TEXTS, "instruction": QUERY}))


def test_dimensions_shorten_the_vector(plain: Plain) -> None:
    want = plain.vectors({"input": TEXTS, "dimensions": 64})
    assert_same(embeddings(plain.url, dimensions=64).embed_documents(TEXTS), want)


def test_many_texts_are_split_and_come_back_in_order(relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(100)
    assert_same(embeddings(relay.url, chunk_size=40).embed_documents(texts), plain.vectors({"input": texts}))
    assert [len(batch) for batch in relay.inputs("input")] == [40, 40, 20]


def test_the_async_client_gets_the_same(plain: Plain) -> None:
    model = embeddings(plain.url, chunk_size=2)
    assert_same(asyncio.run(model.aembed_documents(TEXTS)), plain.vectors({"input": TEXTS}))


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


def test_a_refusal_is_openais_class_with_our_words(plain: Plain) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        embeddings(plain.url, dimensions=4096).embed_documents(TEXTS)
    assert caught.value.code == "invalid_dimensions"
    assert plain.message("/v1/embeddings", {"input": TEXTS, "dimensions": 4096}) in str(caught.value)


def test_a_full_queue_is_waited_for(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 2
    assert_same(embeddings(relay.url).embed_documents(TEXTS), plain.vectors({"input": TEXTS}))
    assert len(relay.sent) == 3


def test_qdrant_behind_it_finds_a_text_nearest_to_itself(plain: Plain) -> None:
    texts = numbered_texts(20)
    store = QdrantVectorStore.from_texts(texts, embeddings(plain.url), location=":memory:", collection_name="texts")
    for text in texts:
        (found, score), *_ = store.similarity_search_with_score(text, k=2)
        assert (found.page_content, score > 0.9999) == (text, True)
