"""Hugging Face's `InferenceClient` as it asks text-embeddings-inference: the full address of `/embed`."""

from typing import Any

import pytest
from huggingface_hub import AsyncInferenceClient, InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from tests.clients.contract import AsksAtOnce
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same
from tests.clients.relay import Relay


class TestInferenceClient(AsksAtOnce):
    package, names = "huggingface_hub", {"InferenceClient": InferenceClient}
    field = "inputs"
    num_busy = 0  # it waits for none

    def made(self, url: str, **more: Any) -> InferenceClient:
        return InferenceClient(f"{url}/embed", **more)

    def vectors(self, client: InferenceClient, texts: list[str]) -> Any:
        return client.feature_extraction(texts)

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        return await AsyncInferenceClient(f"{url}/embed").feature_extraction(texts)


def test_a_bare_text_is_a_list_of_one(plain: Plain) -> None:
    got = InferenceClient(f"{plain.url}/embed").feature_extraction(TEXTS[0])
    assert_same(got, plain.vectors({"input": TEXTS[:1]}))


def test_every_option_passes_through(relay: Relay, plain: Plain) -> None:
    client = InferenceClient(f"{relay.url}/embed")
    got = client.feature_extraction(
        TEXTS, normalize=True, prompt_name="query", truncate=True, truncation_direction="left"
    )
    assert_same(got, plain.vectors({"input": TEXTS, "instruction": QUERY}))
    assert set(relay.sent[0].body) == {"inputs", "normalize", "prompt_name", "truncate", "truncation_direction"}


def test_a_refusal_shows_our_words(plain: Plain) -> None:
    with pytest.raises(HfHubHTTPError) as caught:
        InferenceClient(f"{plain.url}/embed").feature_extraction(TEXTS, prompt_name=f"not-{MODEL}")
    assert "`prompt_name`" in str(caught.value)
