"""Voyage's client: the base URL with `/v1`. It always sends `truncation`, and asks for base64 without saying so."""

import asyncio

import numpy as np
import pytest
import voyageai
from voyageai.error import ServiceUnavailableError, VoyageError

from tests.clients.client_page import page_client
from tests.clients.plain import MODEL, QUERY, TEXTS, Plain, assert_same, numbered_texts
from tests.clients.relay import Relay
from tests.clients.stores import assert_each_is_found_first


def client_of(url: str, max_retries: int = 1) -> voyageai.Client:
    return voyageai.Client(api_key="unused", base_url=f"{url}/v1", max_retries=max_retries)


def test_the_pages_line_is_enough(plain: Plain) -> None:
    client = page_client("voyageai", plain.url, Client=voyageai.Client)
    assert_same(client.embed(TEXTS, model=MODEL).embeddings, plain.vectors({"input": TEXTS}))


def test_texts_keep_their_order_and_tokens_are_counted(relay: Relay, plain: Plain) -> None:
    answer = client_of(relay.url).embed(TEXTS, model=MODEL)
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))
    assert answer.total_tokens > 0
    (sent,) = relay.sent
    assert (sent.body["truncation"], sent.body["output_dtype"], sent.body["output_dimension"]) == (True, None, None)
    assert sent.body["encoding_format"] == "base64"


@pytest.mark.parametrize(("input_type", "more"), [("query", {"instruction": QUERY}), ("document", {})])
def test_input_types_pick_the_instruction(input_type: str, more: dict[str, str], plain: Plain) -> None:
    answer = client_of(plain.url).embed(TEXTS, model=MODEL, input_type=input_type)
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS} | more))


@pytest.mark.parametrize(("field", "value"), [("output_dimension", 64), ("output_dtype", "int8")])
def test_what_would_change_the_numbers_is_refused_and_named(field: str, value: object, plain: Plain) -> None:
    with pytest.raises(VoyageError, match=field):
        client_of(plain.url).embed(TEXTS, model=MODEL, **{field: value})


def test_the_async_way_gets_the_same(plain: Plain) -> None:
    client = voyageai.AsyncClient(api_key="unused", base_url=f"{plain.url}/v1", max_retries=1)
    answer = asyncio.run(client.embed(TEXTS, model=MODEL))
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))


def test_a_full_queue_is_waited_for_or_is_the_clients_own_class(relay: Relay, plain: Plain) -> None:
    relay.num_busy = 1
    answer = client_of(relay.url, max_retries=3).embed(TEXTS, model=MODEL)
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))
    relay.num_busy = 1
    with pytest.raises(ServiceUnavailableError):
        client_of(relay.url).embed(TEXTS, model=MODEL)


def test_qdrant_finds_a_text_nearest_to_itself(plain: Plain) -> None:
    client = client_of(plain.url)
    assert_each_is_found_first(lambda texts: client.embed(texts, model=MODEL).embeddings, numbered_texts(10))


def test_the_numbers_are_floats_of_unit_length(plain: Plain) -> None:
    lengths = np.linalg.norm(client_of(plain.url).embed(TEXTS, model=MODEL).embeddings, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-5)
