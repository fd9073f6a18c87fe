"""Hugging Face's `InferenceClient` as it asks text-embeddings-inference: the full address of `/embed`."""

import asyncio

import pytest
from huggingface_hub import AsyncInferenceClient, InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same
from tests.clients.relay import Relay


def test_the_pages_line_is_enough(plain: Plain) -> None:
    client = page_client("huggingface_hub", plain.url, InferenceClient=InferenceClient)
    assert_same(client.feature_extraction(TEXTS), plain.vectors({"input": TEXTS}))
    assert_same(client.feature_extraction(TEXTS[0]), plain.vectors({"input": TEXTS[:1]}))


def test_every_option_passes_through(relay: Relay, plain: Plain) -> None:
    client = InferenceClient(f"{relay.url}/embed")
    got = client.feature_extraction(
        TEXTS, normalize=True, prompt_name="query", truncate=True, truncation_direction="left"
    )
    assert_same(got, plain.vectors({"input": TEXTS, "instruction": QUERY}))
    assert set(relay.sent[0].body) == {"inputs", "normalize", "prompt_name", "truncate", "truncation_direction"}


def test_the_async_client_gets_the_same(plain: Plain) -> None:
    client = AsyncInferenceClient(f"{plain.url}/embed")
    assert_same(asyncio.run(client.feature_extraction(TEXTS)), plain.vectors({"input": TEXTS}))


def test_a_refusal_shows_our_words(plain: Plain) -> None:
    with pytest.raises(HfHubHTTPError) as caught:
        InferenceClient(f"{plain.url}/embed").feature_extraction(TEXTS, prompt_name=f"not-{MODEL}")
    assert "`prompt_name`" in str(caught.value)
