"""LangChain's embeddings for NVIDIA NIM: the base URL with `/v1`. It always sends `input_type` and `truncate`."""

import asyncio
from typing import Any

import pytest
from langchain_nvidia_ai_endpoints import NVIDIAEmbeddings

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.stores import assert_each_is_found_first


def embeddings_of(url: str, **more: Any) -> NVIDIAEmbeddings:
    return NVIDIAEmbeddings(model=MODEL, base_url=f"{url}/v1", api_key="unused", **more)


def test_the_pages_line_is_enough(plain: Plain) -> None:
    embeddings = page_client("langchain-nvidia-ai-endpoints", plain.url, NVIDIAEmbeddings=NVIDIAEmbeddings)
    assert_same(embeddings.embed_documents(TEXTS), plain.vectors({"input": TEXTS}))
    assert_same([embeddings.embed_query(TEXTS[0])], plain.vectors({"input": TEXTS[:1], "instruction": QUERY}))


def test_without_a_name_the_first_model_listed_is_taken(plain: Plain) -> None:
    embeddings = NVIDIAEmbeddings(base_url=f"{plain.url}/v1", api_key="unused")
    assert_same(embeddings.embed_documents(TEXTS), plain.vectors({"input": TEXTS}))


def test_dimensions_shorten_the_vector(plain: Plain) -> None:
    embeddings = embeddings_of(plain.url, dimensions=64, truncate="END")
    assert_same(embeddings.embed_documents(TEXTS), plain.vectors({"input": TEXTS, "dimensions": 64}))


def test_a_long_text_is_refused_or_cut_as_truncate_says(plain: Plain) -> None:
    long = "a red circle and " * 20_000
    with pytest.raises(Exception, match=r"too long|tokens"):
        embeddings_of(plain.url).embed_documents([long])
    (vector,) = embeddings_of(plain.url, truncate="END").embed_documents([long])
    assert len(vector) > 0


def test_many_documents_are_split_by_fifty(plain: Plain) -> None:
    texts = numbered_texts(120)
    assert_same(embeddings_of(plain.url).embed_documents(texts), plain.vectors({"input": texts}))


def test_the_async_way_gets_the_same(plain: Plain) -> None:
    assert_same(asyncio.run(embeddings_of(plain.url).aembed_documents(TEXTS)), plain.vectors({"input": TEXTS}))


def test_a_refusal_shows_our_words(plain: Plain) -> None:
    with pytest.raises(Exception, match="dimensions"):
        embeddings_of(plain.url, dimensions=4096).embed_documents(TEXTS)


def test_qdrant_finds_a_text_nearest_to_itself(plain: Plain) -> None:
    assert_each_is_found_first(embeddings_of(plain.url).embed_documents, numbered_texts(10))
