"""Cohere's own client, unmodified, gets vectors and errors as from Cohere."""

import asyncio
import base64
from typing import Any

import cohere
import numpy as np
import pytest
from cohere.errors import BadRequestError, NotFoundError, UnprocessableEntityError

from tests.conftest import LiveServer, from_base64, image, image_part, text_part

MODEL = "builtin"
TEXTS = ["a red bicycle", "a green door", ""]
ALL_TYPES = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
QUERY = "Retrieve images or text relevant to the user's query."


@pytest.fixture
def client(server: LiveServer) -> cohere.ClientV2:
    return cohere.ClientV2(base_url=server.url, api_key="any")


def floats(answer: cohere.EmbedByTypeResponse) -> np.ndarray:
    assert answer.embeddings.float_ is not None
    return np.array(answer.embeddings.float_, "<f4")


def test_texts_become_vectors_with_the_clients_own_defaults(client: cohere.ClientV2, server: LiveServer) -> None:
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS)
    np.testing.assert_array_equal(floats(answer), server.vectors({"input": TEXTS}))
    assert answer.texts == TEXTS
    assert answer.response_type == "embeddings_by_type"
    assert answer.id
    assert answer.meta is not None
    assert answer.meta.api_version is not None
    assert answer.meta.api_version.version == "2"
    assert answer.meta.billed_units is not None
    assert answer.meta.billed_units.input_tokens
    assert answer.embeddings.int8 is None


def test_a_query_gets_the_query_instruction(client: cohere.ClientV2, server: LiveServer) -> None:
    answer = client.embed(model=MODEL, input_type="search_query", texts=TEXTS)
    np.testing.assert_array_equal(floats(answer), server.vectors({"input": TEXTS, "instruction": QUERY}))


@pytest.mark.parametrize("input_type", ["search_document", "search_query", "classification", "clustering", "image"])
def test_every_input_type_of_cohere_is_known(client: cohere.ClientV2, input_type: Any) -> None:
    assert floats(client.embed(model=MODEL, input_type=input_type, texts=["x"])).shape == (1, 128)


def test_images_become_vectors_and_are_described(client: cohere.ClientV2, server: LiveServer) -> None:
    urls = [image(21, 96, 64), image(22, 64, 128, "JPEG")]
    answer = client.embed(model=MODEL, input_type="image", images=urls)
    want = server.vectors({"inputs": [{"content": [image_part(url)]} for url in urls]})
    np.testing.assert_allclose(floats(answer), want, rtol=0, atol=1e-5)
    assert answer.images is not None
    assert [(i.width, i.height, i.format, i.bit_depth) for i in answer.images] == [
        (96, 64, "png", 24),
        (64, 128, "jpeg", 24),
    ]
    assert not answer.texts
    assert answer.meta is not None
    assert answer.meta.billed_units is not None
    assert answer.meta.billed_units.images == 2


def test_inputs_mix_images_and_texts(client: cohere.ClientV2, server: LiveServer) -> None:
    items: list[Any] = [
        {"content": [image_part(image(23)), text_part("a door")]},
        {"content": [text_part("a door")]},
    ]
    answer = client.embed(model=MODEL, input_type="search_document", inputs=items)
    np.testing.assert_allclose(floats(answer), server.vectors({"inputs": items}), rtol=0, atol=1e-5)


def test_all_six_types_say_the_same(client: cohere.ClientV2) -> None:
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS, embedding_types=ALL_TYPES)
    by_type = answer.embeddings
    vectors = floats(answer)
    assert by_type.base64 is not None
    np.testing.assert_array_equal(np.stack([from_base64(text) for text in by_type.base64]), vectors)
    bits = np.packbits(vectors >= 0, axis=1)
    np.testing.assert_array_equal(by_type.ubinary, bits)
    np.testing.assert_array_equal(by_type.binary, bits.astype(int) - 128)
    int8, uint8 = np.array(by_type.int8), np.array(by_type.uint8)
    assert int8.shape == uint8.shape == vectors.shape
    np.testing.assert_array_equal(uint8 - int8, 128)
    cosines = (int8 * vectors).sum(axis=1) / np.linalg.norm(int8, axis=1)
    assert (cosines > 0.99).all()


def test_output_dimension_cuts_every_type(client: cohere.ClientV2) -> None:
    answer = client.embed(
        model=MODEL, input_type="search_document", texts=TEXTS, embedding_types=ALL_TYPES, output_dimension=64
    )
    by_type = answer.embeddings
    assert floats(answer).shape == np.shape(by_type.int8) == np.shape(by_type.uint8) == (3, 64)
    assert np.shape(by_type.binary) == np.shape(by_type.ubinary) == (3, 8)
    assert {len(base64.b64decode(text)) for text in by_type.base64 or []} == {4 * 64}
    np.testing.assert_allclose(np.linalg.norm(floats(answer), axis=1), 1, atol=1e-6)


def test_truncation_is_the_clients_choice(client: cohere.ClientV2) -> None:
    long = "start " + "middle " * 40 + "end"
    vectors = [
        floats(client.embed(model=MODEL, input_type="search_document", texts=[long], truncate=side, max_tokens=40))[0]
        for side in ("START", "END")
    ]
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    with pytest.raises(BadRequestError) as caught:
        client.embed(model=MODEL, input_type="search_document", texts=["x", long], truncate="NONE", max_tokens=40)
    assert caught.value.body["error"]["code"] == "context_length_exceeded"
    assert caught.value.body["error"]["index"] == 1


def test_an_input_type_of_none_means_the_default(client: cohere.ClientV2, server: LiveServer) -> None:
    answer = client.embed(model=MODEL, input_type=None, texts=["x"])  # type: ignore[arg-type]
    np.testing.assert_array_equal(floats(answer), server.vectors({"input": "x"}))


def test_the_async_client_works_at_once(server: LiveServer) -> None:
    async def ask() -> list[np.ndarray]:
        async with cohere.AsyncClientV2(base_url=server.url, api_key="any") as client:
            asked = (client.embed(model=MODEL, input_type="search_document", texts=[text]) for text in TEXTS)
            return [floats(answer)[0] for answer in await asyncio.gather(*asked)]

    got = np.stack(asyncio.run(ask()))
    np.testing.assert_allclose(got, server.vectors({"input": TEXTS}), rtol=0, atol=1e-5)


def test_a_bad_request_raises_the_clients_own_class(client: cohere.ClientV2) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.embed(model=MODEL, input_type="search_documents", texts=["x"])  # type: ignore[arg-type]
    assert "search_document" in caught.value.body["message"]
    assert caught.value.body["error"]["param"] == "input_type"
    assert caught.value.body["id"] == caught.value.headers["x-request-id"]  # type: ignore[index]


def test_nothing_to_embed_is_a_bad_request(client: cohere.ClientV2) -> None:
    with pytest.raises(BadRequestError) as caught:
        client.embed(model=MODEL, input_type="search_document")
    assert caught.value.body["error"]["code"] == "missing_input"


def test_a_broken_image_and_an_unknown_model_have_classes_of_their_own(client: cohere.ClientV2) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        client.embed(model=MODEL, input_type="image", images=[image(1), "data:image/png;base64,AAAA"])
    assert (caught.value.body["error"]["index"], caught.value.body["error"]["param"]) == (1, "images[1]")
    with pytest.raises(NotFoundError) as missing:
        client.embed(model="embed-v4.0", input_type="search_document", texts=["x"])
    assert missing.value.body["error"]["code"] == "model_not_found"
