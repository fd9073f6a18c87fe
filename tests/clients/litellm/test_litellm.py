"""LiteLLM's three ways here: `openai/`, `hosted_vllm/` and `cohere/` before the model's name, and `api_base`."""

import asyncio
from functools import partial
from typing import Any

import litellm
import pytest

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, image, image_part, numbered_texts
from tests.clients.relay import Relay

PATHS = {"openai": "/v1", "hosted_vllm": "/v1", "cohere": "/v2/embed"}
"""Ends of `api_base`."""
each_provider = pytest.mark.parametrize("provider", PATHS)


def settings(provider: str, url: str, **more: Any) -> dict[str, Any]:
    return {"model": f"{provider}/{MODEL}", "api_base": url + PATHS[provider], "api_key": "unused"} | more


def vectors(answer: litellm.EmbeddingResponse) -> list[list[float]]:
    assert [entry["index"] for entry in answer.data] == list(range(len(answer.data)))
    return [entry["embedding"] for entry in answer.data]


def test_the_pages_line_is_enough(plain: Plain) -> None:
    embed = page_client("litellm", plain.url, partial=partial, embedding=litellm.embedding)
    assert_same(vectors(embed(input=TEXTS)), plain.vectors({"input": TEXTS}))


@each_provider
def test_texts_keep_their_order_and_an_empty_one_its_place(provider: str, relay: Relay, plain: Plain) -> None:
    answer = litellm.embedding(**settings(provider, relay.url), input=TEXTS)
    assert_same(vectors(answer), plain.vectors({"input": TEXTS}))
    assert answer.usage.prompt_tokens > 0
    (sent,) = relay.sent
    field, more = ("texts", {"input_type"}) if provider == "cohere" else ("input", set())
    assert sent.body[field] == TEXTS
    assert set(sent.body) == {field, "model"} | more


@each_provider
def test_many_texts_are_one_request(provider: str, relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(200)
    assert_same(
        vectors(litellm.embedding(**settings(provider, relay.url), input=texts)), plain.vectors({"input": texts})
    )
    assert len(relay.sent) == 1


@pytest.mark.parametrize(("provider", "more"), [
    ("openai", {"allowed_openai_params": ["dimensions"]}), ("hosted_vllm", {}), ("cohere", {})
])  # fmt: skip
def test_dimensions_shorten_the_vector(provider: str, more: dict[str, Any], plain: Plain) -> None:
    answer = litellm.embedding(**settings(provider, plain.url, **more), input=TEXTS, dimensions=64)
    assert_same(vectors(answer), plain.vectors({"input": TEXTS, "dimensions": 64}))


def test_the_openai_way_keeps_dimensions_to_itself_unless_allowed(plain: Plain) -> None:
    with pytest.raises(litellm.UnsupportedParamsError):
        litellm.embedding(**settings("openai", plain.url), input=TEXTS, dimensions=64)


@each_provider
def test_an_instruction_passes_through(provider: str, plain: Plain) -> None:
    answer = litellm.embedding(**settings(provider, plain.url, instruction=QUERY), input=TEXTS)
    assert_same(vectors(answer), plain.vectors({"input": TEXTS, "instruction": QUERY}))


def test_an_image_goes_in_the_cohere_way(relay: Relay, plain: Plain) -> None:
    answer = litellm.embedding(**settings("cohere", relay.url), input=[image()])
    assert_same(vectors(answer), plain.vectors({"inputs": [{"content": [image_part(image())]}]}))
    assert relay.inputs("input_type") == ["image"]


@each_provider
def test_a_refusal_is_litellms_own_class_with_our_words(provider: str, plain: Plain) -> None:
    more = {"allowed_openai_params": ["dimensions"]} if provider == "openai" else {}
    with pytest.raises(litellm.BadRequestError) as caught:
        litellm.embedding(**settings(provider, plain.url, **more), input=TEXTS, dimensions=4096)
    field = "output_dimension" if provider == "cohere" else "dimensions"
    assert f"`{field}`" in str(caught.value)
    assert "4096" in str(caught.value)


@each_provider
def test_an_unknown_model_is_litellms_own_class(provider: str, plain: Plain) -> None:
    with pytest.raises(litellm.NotFoundError, match="not served here"):
        litellm.embedding(**settings(provider, plain.url) | {"model": f"{provider}/none"}, input=TEXTS)


@each_provider
def test_a_full_queue_is_litellms_own_class(provider: str, relay: Relay) -> None:
    relay.num_busy = 9
    with pytest.raises(litellm.ServiceUnavailableError, match="the queue is full"):
        litellm.embedding(**settings(provider, relay.url), input=TEXTS, max_retries=0)


def test_a_full_queue_is_waited_for_the_openai_way(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 2
    answer = litellm.embedding(**settings("openai", relay.url), input=TEXTS, max_retries=2)
    assert_same(vectors(answer), plain.vectors({"input": TEXTS}))
    assert len(relay.sent) == 3


@each_provider
def test_the_async_way_gets_the_same(provider: str, plain: Plain) -> None:
    async def ask() -> litellm.EmbeddingResponse:
        return await litellm.aembedding(**settings(provider, plain.url), input=TEXTS)

    assert_same(vectors(asyncio.run(ask())), plain.vectors({"input": TEXTS}))
