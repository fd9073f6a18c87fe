"""Cohere's first `Client` on `/v1/embed`: it splits by 96, asks for the parts at once, and merges the answers."""

import asyncio

import cohere
import pytest
from cohere.errors import BadRequestError, NotFoundError

from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, image, image_part, numbered_texts
from tests.clients.relay import Relay


@pytest.fixture
def client(relay: Relay) -> cohere.Client:
    return cohere.Client(base_url=relay.url, api_key="unused")


def test_without_embedding_types_it_gets_a_list_of_vectors(client: cohere.Client, relay: Relay, plain: Plain) -> None:
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS)
    assert answer.response_type == "embeddings_floats"
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))
    assert answer.texts == TEXTS
    assert answer.meta is not None
    assert answer.meta.api_version is not None
    assert answer.meta.api_version.version == "1"
    assert [(sent.path, sorted(sent.body)) for sent in relay.sent] == [("/v1/embed", ["input_type", "model", "texts"])]


def test_with_embedding_types_it_gets_vectors_by_type(client: cohere.Client, plain: Plain) -> None:
    answer = client.embed(model=MODEL, input_type="search_query", texts=TEXTS, embedding_types=["float", "int8"])
    assert answer.response_type == "embeddings_by_type"
    assert_same(answer.embeddings.float_, plain.vectors({"input": TEXTS, "instruction": QUERY}))
    assert answer.embeddings.int8 is not None
    assert len(answer.embeddings.int8) == len(TEXTS)
    assert answer.embeddings.ubinary is None


def test_all_six_types_are_those_of_v2(client: cohere.Client, plain: Plain) -> None:
    types = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    answer = client.embed(model=MODEL, input_type="search_document", texts=TEXTS[:1], embedding_types=types)
    asked = {"texts": TEXTS[:1], "input_type": "search_document", "embedding_types": types}
    want = plain.post("/v2/embed", asked)[1]["embeddings"]
    assert_same(answer.embeddings.float_, want.pop("float"))
    assert {name: getattr(answer.embeddings, name) for name in want} == want


@pytest.mark.parametrize("types", [None, ["float"]])
def test_two_hundred_texts_come_back_merged_in_order(
    client: cohere.Client, relay: Relay, plain: Plain, types: list[str] | None
) -> None:
    texts = numbered_texts(200)
    answer = client.embed(model=MODEL, input_type="search_document", texts=texts, embedding_types=types)
    vectors = answer.embeddings if types is None else answer.embeddings.float_
    assert_same(vectors, plain.vectors({"input": texts}))
    assert answer.texts == texts
    assert sorted(len(sent.body["texts"]) for sent in relay.sent) == [8, 96, 96]
    assert answer.meta is not None
    assert answer.meta.billed_units is not None
    assert answer.meta.billed_units.input_tokens


def test_an_image_goes_in(client: cohere.Client, plain: Plain) -> None:
    answer = client.embed(model=MODEL, input_type="image", images=[image()], embedding_types=["float"])
    assert_same(answer.embeddings.float_, plain.vectors({"inputs": [{"content": [image_part(image())]}]}))
    assert answer.images is not None
    assert [(one.format, one.bit_depth) for one in answer.images] == [("png", 24)]
    assert answer.texts == []


def test_truncation_is_the_clients_choice(client: cohere.Client) -> None:
    long = "word " * 9000
    cut = client.embed(model=MODEL, input_type="search_document", texts=["x", long], truncate="END")
    assert cut.meta is not None
    assert cut.meta.warnings == ["the text of inputs 1 was cut to fit"]
    with pytest.raises(BadRequestError) as caught:
        client.embed(model=MODEL, input_type="search_document", texts=["x", long], truncate="NONE")
    error = caught.value.body["error"]
    assert (error["code"], error["param"], error["index"]) == ("context_length_exceeded", "texts[1]", 1)


def test_refusals_are_the_clients_own_classes(client: cohere.Client) -> None:
    with pytest.raises(BadRequestError) as bad:
        client.embed(model=MODEL, input_type="search_documents", texts=["x"])
    assert bad.value.body["error"]["param"] == "input_type"
    assert bad.value.body["message"] == bad.value.body["error"]["message"]
    with pytest.raises(NotFoundError) as missing:
        client.embed(model="embed-english-v3.0", input_type="search_document", texts=["x"])
    assert missing.value.body["error"]["code"] == "model_not_found"


def test_a_base_url_with_v1_is_told_so(plain: Plain) -> None:
    with pytest.raises(NotFoundError) as caught:
        cohere.Client(base_url=f"{plain.url}/v1", api_key="unused").embed(model=MODEL, texts=["x"])
    assert "leave out what stands before that path in the base URL" in caught.value.body["message"]


def test_a_full_queue_is_waited_for(client: cohere.Client, relay: Relay) -> None:
    relay.num_busy = 1
    assert client.embed(model=MODEL, input_type="search_document", texts=["x"]).embeddings
    assert len(relay.sent) == 2


def test_the_async_client_merges_too(plain: Plain) -> None:
    texts = numbered_texts(200)

    async def ask() -> list[list[float]]:
        async with cohere.AsyncClient(base_url=plain.url, api_key="unused") as client:
            return (await client.embed(model=MODEL, input_type="search_document", texts=texts)).embeddings

    assert_same(asyncio.run(ask()), plain.vectors({"input": texts}))
