"""Cohere's `ClientV2` on `/v2/embed`: only the base URL is set."""

import asyncio
import base64
from typing import Any

import cohere
import numpy as np
import pytest
from cohere.errors import BadRequestError, NotFoundError, ServiceUnavailableError, UnprocessableEntityError

from tests.clients.contract import AsksAtOnce, Instructs, SplitsTexts
from tests.clients.plain import DIMENSIONS, MODEL, TEXTS, Plain, assert_same, image, image_part
from tests.clients.relay import Relay

SIZE = (256, 256)
TYPES = ["float", "int8", "uint8", "binary", "ubinary", "base64"]


@pytest.fixture
def client(relay: Relay) -> cohere.ClientV2:
    return cohere.ClientV2(base_url=relay.url, api_key="unused")


class TestClientV2(SplitsTexts, Instructs, AsksAtOnce):
    package, names = "cohere", {"ClientV2": cohere.ClientV2}
    field = "texts"
    batches = (200,)

    def made(self, url: str, **more: Any) -> cohere.ClientV2:
        return cohere.ClientV2(base_url=url, api_key="unused", **more)

    def vectors(self, client: cohere.ClientV2, texts: list[str]) -> Any:
        return client.embed(model=MODEL, input_type="search_document", texts=texts).embeddings.float_

    def query(self, client: cohere.ClientV2, text: str) -> Any:
        return (client.embed(model=MODEL, input_type="search_query", texts=[text]).embeddings.float_ or [])[0]

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        async with cohere.AsyncClientV2(base_url=url, api_key="unused") as client:
            asked = (client.embed(model=MODEL, input_type="search_document", texts=[text]) for text in texts)
            return [(answer.embeddings.float_ or [])[0] for answer in await asyncio.gather(*asked)]


def test_what_stands_beside_the_vectors_is_there(client: cohere.ClientV2) -> None:
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS)
    assert (answer.texts, answer.response_type, answer.embeddings.int8) == (TEXTS, "embeddings_by_type", None)
    assert answer.id
    assert answer.meta is not None
    assert answer.meta.api_version is not None
    assert answer.meta.api_version.version == "2"
    assert answer.meta.billed_units is not None
    assert answer.meta.billed_units.input_tokens


@pytest.mark.parametrize("input_type", ["search_document", "classification", "clustering", "image", None])
def test_every_other_input_type_is_known_and_none_is_the_default(
    client: cohere.ClientV2, plain: Plain, input_type: Any
) -> None:
    answer = client.embed(model=MODEL, input_type=input_type, texts=["x"])
    assert np.shape(answer.embeddings.float_) == (1, DIMENSIONS)
    if input_type is None:
        assert_same(answer.embeddings.float_, plain.vectors({"input": "x"}))


def test_all_number_formats_have_the_shorter_length(client: cohere.ClientV2, plain: Plain) -> None:
    answer = client.embed(
        model=MODEL, input_type="search_document", texts=TEXTS, embedding_types=TYPES, output_dimension=64
    )
    by_type = answer.embeddings
    vectors, int8, uint8 = (np.array(one) for one in (by_type.float_, by_type.int8, by_type.uint8))
    assert_same(vectors, plain.vectors({"input": TEXTS, "dimensions": 64}))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    written = [np.frombuffer(base64.b64decode(text), "<f4") for text in by_type.base64 or []]
    np.testing.assert_array_equal(np.stack(written), vectors.astype("<f4"))
    assert int8.shape == (len(TEXTS), 64)
    np.testing.assert_array_equal(uint8 - int8, 128)
    assert ((int8 * vectors).sum(axis=1) / np.linalg.norm(int8, axis=1) > 0.95).all()
    bits = np.packbits(vectors >= 0, axis=1)
    np.testing.assert_array_equal(by_type.ubinary, bits)
    np.testing.assert_array_equal(by_type.binary, bits.astype(int) - 128)


def test_images_go_in_as_images_and_as_inputs(client: cohere.ClientV2, plain: Plain) -> None:
    urls = [image("red-circle-blue-square"), image("three-green-stars")]
    want = plain.vectors({"inputs": [{"content": [image_part(url)]} for url in urls]})
    answer = client.embed(model=MODEL, input_type="image", images=urls)
    assert_same(answer.embeddings.float_, want)
    assert answer.images is not None
    assert {(one.width, one.height, one.format, one.bit_depth) for one in answer.images} == {(*SIZE, "png", 24)}
    assert not answer.texts
    assert answer.meta is not None
    assert answer.meta.billed_units is not None
    assert answer.meta.billed_units.images == 2
    inputs: list[Any] = [{"content": [image_part(url), {"type": "text", "text": "a door"}]} for url in urls]
    mixed = client.embed(model=MODEL, input_type="search_document", inputs=inputs)
    assert_same(mixed.embeddings.float_, plain.vectors({"inputs": inputs}))


def test_truncation_is_the_clients_choice(client: cohere.ClientV2) -> None:
    long = "start " + "middle " * 40 + "end"
    vectors = [
        client.embed(model=MODEL, input_type="search_document", texts=[long], truncate=side, max_tokens=40)
        for side in ("START", "END")
    ]
    start, end = (np.array(one.embeddings.float_) for one in vectors)
    assert np.abs(start - end).max() > 1e-3
    with pytest.raises(BadRequestError) as caught:
        client.embed(model=MODEL, input_type="search_document", texts=["x", long], truncate="NONE", max_tokens=40)
    error = caught.value.body["error"]
    assert (error["code"], error["index"]) == ("context_length_exceeded", 1)


def test_refusals_are_the_clients_own_classes(client: cohere.ClientV2, relay: Relay, plain: Plain) -> None:
    with pytest.raises(BadRequestError) as bad:
        client.embed(model=MODEL, input_type="search_document", texts=TEXTS, output_dimension=4096)
    assert bad.value.body["error"]["code"] == "invalid_dimensions"
    assert bad.value.body["message"] == plain.message("/v2/embed", {"texts": TEXTS, "output_dimension": 4096})
    assert bad.value.body["id"] == bad.value.headers["x-request-id"]
    with pytest.raises(BadRequestError) as nothing:
        client.embed(model=MODEL, input_type="search_document")
    assert nothing.value.body["error"]["code"] == "missing_input"
    with pytest.raises(BadRequestError, match="search_document") as other:
        client.embed(model=MODEL, input_type="search_documents", texts=["x"])
    assert other.value.body["error"]["param"] == "input_type"
    with pytest.raises(NotFoundError) as missing:
        client.embed(model="embed-v4.0", input_type="search_document", texts=TEXTS)
    assert missing.value.body["error"]["code"] == "model_not_found"
    with pytest.raises(UnprocessableEntityError) as broken:
        client.embed(model=MODEL, input_type="image", images=[image(), "data:image/png;base64,AAAA"])
    error = broken.value.body["error"]
    assert (error["code"], error["index"], error["param"]) == ("media_undecodable", 1, "images[1]")
    assert len(relay.sent) == 5


def test_a_queue_that_stays_full_is_the_clients_own_class(client: cohere.ClientV2, relay: Relay) -> None:
    relay.num_busy = 1
    with pytest.raises(ServiceUnavailableError) as caught:
        client.embed(model=MODEL, input_type="search_document", texts=["x"], request_options={"max_retries": 0})
    assert caught.value.body["error"]["code"] == "overloaded"
