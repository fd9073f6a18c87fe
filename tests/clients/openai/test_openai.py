"""OpenAI's own client, in both majors that are in use: only the base URL is set."""

import asyncio
import base64
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.clients.contract import AsksAtOnce, ShortensVectors
from tests.clients.plain import MODEL, TEXTS, Plain, assert_same, image, image_part, numbered_texts
from tests.clients.relay import Relay


@pytest.fixture
def client(relay: Relay) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{relay.url}/v1", api_key="unused") as client:
        yield client


class TestOpenAI(ShortensVectors, AsksAtOnce):
    package, names = "openai", {"OpenAI": OpenAI}
    sends: ClassVar = {"encoding_format": "base64"}
    refusal = openai.BadRequestError

    def made(self, url: str, **more: Any) -> tuple[OpenAI, dict[str, Any]]:
        return OpenAI(base_url=f"{url}/v1", api_key="unused"), more

    def vectors(self, client: OpenAI | tuple[OpenAI, dict[str, Any]], texts: list[str]) -> Any:
        made, more = client if isinstance(client, tuple) else (client, {})
        return [entry.embedding for entry in made.embeddings.create(model=MODEL, input=texts, **more).data]

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="unused") as client:
            answers = await asyncio.gather(*(client.embeddings.create(model=MODEL, input=text) for text in texts))
        return [answer.data[0].embedding for answer in answers]


def test_what_stands_beside_the_vectors_is_there(client: OpenAI, relay: Relay) -> None:
    relay.num_busy = 2
    answer = client.embeddings.create(model=MODEL, input=TEXTS)
    assert (answer.object, answer.data[0].object, answer.model) == ("list", "embedding", MODEL)
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 0
    assert [sent.headers["x-stainless-retry-count"] for sent in relay.sent] == ["0", "1", "2"]


def test_a_thousand_texts_are_one_request(client: OpenAI, relay: Relay, plain: Plain) -> None:
    texts = numbered_texts(1000)
    answer = client.embeddings.create(model=MODEL, input=texts)
    assert [entry.index for entry in answer.data] == list(range(1000))
    assert_same([entry.embedding for entry in answer.data], plain.vectors({"input": texts}))
    assert len(relay.sent) == 1


def test_floats_are_the_same_as_the_clients_own_base64(client: OpenAI) -> None:
    decoded = client.embeddings.create(model=MODEL, input=TEXTS[0]).data[0].embedding
    floats = client.embeddings.create(model=MODEL, input=TEXTS[0], encoding_format="float").data[0].embedding
    text = client.embeddings.create(model=MODEL, input=TEXTS[0], encoding_format="base64").data[0].embedding
    assert isinstance(text, str)
    np.testing.assert_array_equal(np.array(decoded, "<f4"), np.array(floats, "<f4"))
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(text), "<f4"), np.array(floats, "<f4"))


@pytest.mark.parametrize("body", [
    {"messages": [{"role": "user", "content": [image_part(image()), {"type": "text", "text": "shapes"}]}]},
    {"inputs": [{"content": [image_part(image())]}, {"content": "x"}], "instruction": "Represent the colors."},
], ids=["messages", "inputs"])  # fmt: skip
def test_images_go_in_through_extra_body(client: OpenAI, plain: Plain, body: dict[str, object]) -> None:
    answer = client.embeddings.create(model=MODEL, input=openai.omit, extra_body=body)
    assert_same([entry.embedding for entry in answer.data], plain.vectors(body))


def test_a_bad_request_is_the_clients_own_class_and_is_not_repeated(client: OpenAI, relay: Relay, plain: Plain) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model=MODEL, input=TEXTS, dimensions=4096)
    error = caught.value
    assert (error.code, error.param, error.type) == ("invalid_dimensions", "dimensions", "invalid_request_error")
    assert plain.message("/v1/embeddings", {"input": TEXTS, "dimensions": 4096}) in caught.value.message
    assert caught.value.request_id
    assert len(relay.sent) == 1
    with pytest.raises(openai.BadRequestError, match="did you mean `dimensions`"):
        client.embeddings.create(model=MODEL, input="x", extra_body={"dimension": 64})


def test_what_cannot_succeed_is_not_repeated(client: OpenAI, relay: Relay) -> None:
    """By itself the client repeats every 409 and 504 twice."""
    two = [
        {"content": [image_part(image(name)) | {"uuid": "sdk-409"}]}
        for name in ("red-circle-blue-square", "three-green-stars")
    ]
    with pytest.raises(openai.ConflictError):
        client.embeddings.create(model=MODEL, input=openai.omit, extra_body={"inputs": two})
    with pytest.raises(openai.InternalServerError, match=r"0\.001 s"):
        client.embeddings.create(model=MODEL, input="x", extra_headers={"x-request-timeout": "0.001"})
    assert len(relay.sent) == 2


def test_what_the_client_sends_beside_the_input_is_accepted(client: OpenAI) -> None:
    headers = {"x-request-id": "me.1"}
    answer = client.embeddings.create(model=MODEL, input=TEXTS[0], user="user-1", extra_headers=headers)
    assert answer.model_extra is not None
    assert (answer.model_extra["id"], answer._request_id) == ("embd-me.1", "me.1")


def test_an_unknown_model_and_a_broken_image_have_classes_of_their_own(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.embeddings.create(model="text-embedding-3-small", input="x")
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    body = {"inputs": [{"content": "fine"}, {"content": [image_part("data:image/png;base64,AAAA")]}]}
    with pytest.raises(openai.UnprocessableEntityError) as broken:
        client.embeddings.create(model=MODEL, input=openai.omit, extra_body=body)
    assert (broken.value.code, broken.value.body["index"]) == ("media_undecodable", 1)  # type: ignore[index]


def test_a_base_url_without_v1_gets_the_right_route_in_the_error(plain: Plain) -> None:
    with OpenAI(base_url=plain.url, api_key="unused") as client, pytest.raises(openai.NotFoundError) as caught:
        client.embeddings.create(model=MODEL, input="x")
    assert caught.value.code == "route_not_found"
    assert "/v1/embeddings" in caught.value.message


def test_a_queue_that_stays_full_is_the_clients_own_class(relay: Relay) -> None:
    relay.num_busy = 1
    client = OpenAI(base_url=f"{relay.url}/v1", api_key="unused", max_retries=0)
    with client, pytest.raises(openai.InternalServerError) as caught:
        client.embeddings.create(model=MODEL, input="x")
    assert caught.value.code == "overloaded"


def test_every_listed_model_answers(plain: Plain) -> None:
    with OpenAI(base_url=f"{plain.url}/v1", api_key="unused") as client:
        names = [model.id for model in client.models.list()]
        assert MODEL in names
        for name in names:
            assert client.models.retrieve(name).id == name
            assert client.embeddings.create(model=name, input="x").model == name
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("text-embedding-3-small")
