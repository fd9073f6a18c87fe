"""OpenAI's own client, unmodified, gets vectors and errors as from OpenAI."""

import asyncio
from collections.abc import Iterator

import numpy as np
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.conftest import LiveServer, from_base64, image, image_part, text_part

MODEL = "builtin"
TEXTS = ["a red bicycle", "a green door", ""]


@pytest.fixture
def client(server: LiveServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
        yield client


def test_a_text_becomes_a_vector_with_the_clients_own_defaults(client: OpenAI, server: LiveServer) -> None:
    """The client asks for base64 by itself and decodes it."""
    answer = client.embeddings.create(model=MODEL, input=TEXTS[0])
    got = np.array(answer.data[0].embedding, "<f4")
    np.testing.assert_array_equal(got, server.vectors({"input": TEXTS[0]})[0])
    assert abs(float(got @ got) - 1) < 1e-5
    assert (answer.object, answer.data[0].object, answer.model) == ("list", "embedding", MODEL)
    assert answer.usage.prompt_tokens == answer.usage.total_tokens > 0


def test_float_and_explicit_base64_hold_the_same_vector(client: OpenAI) -> None:
    floats = client.embeddings.create(model=MODEL, input=TEXTS[0], encoding_format="float").data[0].embedding
    text = client.embeddings.create(model=MODEL, input=TEXTS[0], encoding_format="base64").data[0].embedding
    assert isinstance(text, str)
    np.testing.assert_array_equal(np.array(floats, "<f4"), from_base64(text))


def test_a_list_of_texts_keeps_its_order(client: OpenAI, server: LiveServer) -> None:
    answer = client.embeddings.create(model=MODEL, input=TEXTS)
    assert [entry.index for entry in answer.data] == [0, 1, 2]
    for entry, text in zip(answer.data, TEXTS, strict=True):
        np.testing.assert_allclose(entry.embedding, server.vectors({"input": text})[0], rtol=0, atol=1e-5)


def test_dimensions_cut_the_vector_and_normalize_it_again(client: OpenAI) -> None:
    full = np.array(client.embeddings.create(model=MODEL, input=TEXTS[0]).data[0].embedding)
    short = np.array(client.embeddings.create(model=MODEL, input=TEXTS[0], dimensions=64).data[0].embedding)
    assert short.shape == (64,)
    np.testing.assert_allclose(short, full[:64] / np.linalg.norm(full[:64]), rtol=0, atol=1e-6)


def test_an_image_goes_in_as_messages(client: OpenAI, server: LiveServer) -> None:
    content = [image_part(image(7)), text_part("a door")]
    messages = [{"role": "user", "content": content}]
    answer = client.embeddings.create(model=MODEL, input=openai.omit, extra_body={"messages": messages})
    want = server.vectors({"inputs": [{"content": content}]})[0]
    np.testing.assert_array_equal(np.array(answer.data[0].embedding, "<f4"), want)


def test_images_go_in_as_inputs_with_an_instruction(client: OpenAI, server: LiveServer) -> None:
    body = {"inputs": [{"content": [image_part(image(8))]}], "instruction": "Represent the colors of the image."}
    answer = client.embeddings.create(model=MODEL, input=openai.omit, extra_body=body)
    np.testing.assert_array_equal(np.array(answer.data[0].embedding, "<f4"), server.vectors(body)[0])


def test_what_the_client_sends_beside_the_input_is_accepted(client: OpenAI) -> None:
    headers = {"x-request-id": "me.1"}
    answer = client.embeddings.create(model=MODEL, input=TEXTS[0], user="user-1", extra_headers=headers)
    assert answer.model_extra is not None
    assert answer.model_extra["id"] == "embd-me.1"
    assert answer._request_id == "me.1"


def test_the_models_are_listed_and_each_can_be_asked_for(client: OpenAI) -> None:
    listed = [model.id for model in client.models.list()]
    assert MODEL in listed
    assert any("embed" in name and name == name.lower() for name in listed)
    for name in listed:
        assert client.models.retrieve(name).id == name
        assert client.embeddings.create(model=name, input="x").model == name


def test_the_async_client_works_at_once(server: LiveServer) -> None:
    async def ask() -> list[list[float]]:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
            answers = await asyncio.gather(*(client.embeddings.create(model=MODEL, input=text) for text in TEXTS))
        return [answer.data[0].embedding for answer in answers]

    got = np.array(asyncio.run(ask()))
    want = np.stack([server.vectors({"input": text})[0] for text in TEXTS])
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)


def test_a_bad_request_raises_the_clients_own_class_with_code_and_param(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model=MODEL, input="x", dimensions=4096)
    error = caught.value
    assert (error.code, error.param, error.type) == ("invalid_dimensions", "dimensions", "invalid_request_error")
    assert "4096" in error.message
    assert error.request_id


def test_a_typo_is_refused_by_name(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="did you mean `dimensions`") as caught:
        client.embeddings.create(model=MODEL, input="x", extra_body={"dimension": 64})
    assert (caught.value.code, caught.value.param) == ("unknown_field", "dimension")


def test_a_broken_image_raises_unprocessable(client: OpenAI) -> None:
    body = {"inputs": [{"content": "fine"}, {"content": [image_part("data:image/png;base64,AAAA")]}]}
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        client.embeddings.create(model=MODEL, input=openai.omit, extra_body=body)
    assert caught.value.code == "media_undecodable"
    assert caught.value.body["index"] == 1  # type: ignore[index]


def test_an_unknown_model_raises_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.embeddings.create(model="text-embedding-3-small", input="x")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("text-embedding-3-small")


def test_what_cannot_succeed_is_not_repeated(server: LiveServer) -> None:
    """By itself the client repeats every 409 and 504 twice."""

    def counted(status: int) -> float:
        series = f'cenote_requests_total{{front="0",route="/v1/embeddings",status="{status}"}}'
        lines = server.http.get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(series))

    two = [{"content": [image_part(image(seed)) | {"uuid": "sdk-409"}]} for seed in (901, 902)]
    before = counted(409), counted(504)
    with OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=2) as client:
        with pytest.raises(openai.ConflictError):
            client.embeddings.create(model=MODEL, input=openai.omit, extra_body={"inputs": two})
        with pytest.raises(openai.InternalServerError, match=r"0\.001 s"):
            client.embeddings.create(model=MODEL, input="x", extra_headers={"x-request-timeout": "0.001"})
    assert (counted(409), counted(504)) == (before[0] + 1, before[1] + 1)
