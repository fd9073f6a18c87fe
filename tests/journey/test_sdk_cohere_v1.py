"""Cohere's v1 client, unmodified: the same vectors as its successor gets, in the older shape."""

from typing import Any

import cohere
import numpy as np
import pytest
from cohere.errors import BadRequestError, NotFoundError

from tests.conftest import LiveServer, from_base64, image, image_part

MODEL = "builtin"
TEXTS = [f"text number {i}" for i in range(200)]
ALL_TYPES = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
V1_FIELDS = {"response_type", "id", "embeddings", "texts", "meta"}


@pytest.fixture
def client(server: LiveServer) -> cohere.Client:
    return cohere.Client(base_url=server.url, api_key="any")


def by_v2(server: LiveServer, **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = server.ask("/v2/embed", {"input_type": "search_document", **body}).json()["embeddings"]
    return found


def test_two_hundred_texts_go_in_three_requests_and_come_back_in_order(
    client: cohere.Client, server: LiveServer
) -> None:
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS)
    assert answer.response_type == "embeddings_floats"
    assert len(answer.id.split(", ")) == 3
    assert answer.texts == TEXTS
    got = np.array(answer.embeddings, "<f4")
    np.testing.assert_allclose(got, np.array(by_v2(server, texts=TEXTS)["float"], "<f4"), rtol=0, atol=1e-6)
    np.testing.assert_allclose(got, server.vectors({"input": TEXTS}), rtol=0, atol=1e-6)
    assert answer.meta is not None
    assert answer.meta.api_version is not None
    assert answer.meta.api_version.version == "1"
    assert answer.meta.billed_units is not None
    assert answer.meta.billed_units.input_tokens


def test_all_six_types_are_those_of_v2(client: cohere.Client, server: LiveServer) -> None:
    texts = TEXTS[:3]
    answer = client.embed(model=MODEL, input_type="search_document", texts=texts, embedding_types=ALL_TYPES)
    assert isinstance(answer, cohere.EmbeddingsByTypeEmbedResponse)
    want = by_v2(server, texts=texts, embedding_types=ALL_TYPES)
    got = answer.embeddings
    np.testing.assert_array_equal(got.float_, want["float"])
    for name in ("int8", "uint8", "binary", "ubinary", "base64"):
        assert getattr(got, name) == want[name]
    np.testing.assert_array_equal(np.stack([from_base64(one) for one in got.base64 or []]), np.array(got.float_, "<f4"))


def test_types_of_many_texts_are_merged_by_the_client(client: cohere.Client) -> None:
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS, embedding_types=["int8", "ubinary"])
    assert isinstance(answer, cohere.EmbeddingsByTypeEmbedResponse)
    assert np.shape(answer.embeddings.int8) == (200, 128)
    assert np.shape(answer.embeddings.ubinary) == (200, 16)
    assert answer.embeddings.float_ is None


def test_an_image_and_its_description(client: cohere.Client, server: LiveServer) -> None:
    url = image(61, 96, 64)
    answer = client.embed(model=MODEL, input_type="image", images=[url])
    want = server.vectors({"inputs": [{"content": [image_part(url)]}]})
    np.testing.assert_allclose(np.array(answer.embeddings, "<f4"), want, rtol=0, atol=1e-5)
    assert answer.images is not None
    assert [(i.width, i.height, i.format, i.bit_depth) for i in answer.images] == [(96, 64, "png", 24)]
    assert answer.texts == []


def test_the_input_type_chooses_the_instruction(client: cohere.Client, server: LiveServer) -> None:
    answer = client.embed(model=MODEL, input_type="search_query", texts=TEXTS[:2])
    query = "Retrieve images or text relevant to the user's query."
    want = server.vectors({"input": TEXTS[:2], "instruction": query})
    np.testing.assert_array_equal(np.array(answer.embeddings, "<f4"), want)


def test_the_bare_answer_has_cohere_s_fields_and_no_other(server: LiveServer) -> None:
    answer = server.ask("/v1/embed", {"texts": ["x"]})
    assert set(answer.json()) == V1_FIELDS
    assert answer.headers["x-encoder-cache"] == "hit=0, miss=0"


def test_a_long_text_is_cut_or_refused_as_asked(client: cohere.Client) -> None:
    long = "long " * 9000
    cut = client.embed(model=MODEL, input_type="search_document", texts=["x", long])
    assert cut.meta is not None
    assert cut.meta.warnings == ["the text of inputs 1 was cut to fit"]
    with pytest.raises(BadRequestError) as caught:
        client.embed(model=MODEL, input_type="search_document", texts=["x", long], truncate="NONE")
    assert caught.value.body["error"]["code"] == "context_length_exceeded"
    assert caught.value.body["error"]["param"] == "texts[1]"


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({}, "missing_input", "exactly one of `texts`, `images`, got none"),
        ({"texts": ["x"], "images": [image(1)]}, "conflicting_input", "`texts` and `images`"),
        ({"inputs": [{"content": "x"}]}, "unknown_field", "`inputs`"),
        ({"texts": ["x"], "input_type": "nothing"}, "invalid_request", "search_document"),
    ],
)
def test_a_refusal_has_cohere_s_shape(server: LiveServer, body: dict[str, Any], code: str, words: str) -> None:
    answer = server.http.post("/v1/embed", json=body)
    said = answer.json()
    assert answer.status_code == 400
    assert (said["error"]["code"], said["id"]) == (code, answer.headers["x-request-id"])
    assert words in said["message"]


def test_the_clients_own_classes_are_raised(client: cohere.Client, server: LiveServer) -> None:
    with pytest.raises(NotFoundError):
        client.embed(model="embed-v3", input_type="search_document", texts=["x"])
    with pytest.raises(NotFoundError) as caught:
        cohere.Client(base_url=f"{server.url}/v1", api_key="any").embed(model=MODEL, texts=["x"])
    assert "/v1/embed? leave out what stands before that path in the base URL" in caught.value.body["message"]
