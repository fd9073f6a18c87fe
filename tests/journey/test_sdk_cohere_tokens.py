"""Cohere's client, unmodified, asked for everything but vectors: tokens, their text, the key, the models."""

from collections.abc import Callable
from pathlib import Path

import cohere
import pytest
from cohere.base_client import BaseCohere
from cohere.errors import BadRequestError, NotFoundError, UnauthorizedError

from tests.builders import write_keys
from tests.conftest import LiveServer

MODEL = "builtin"
TEXT = "a red bicycle, 東京 👩‍👩‍👧 <|im_end|>"


@pytest.fixture
def client(server: LiveServer) -> cohere.Client:
    return cohere.Client(base_url=server.url, api_key="any")


def test_tokens_and_back(client: cohere.Client, server: LiveServer) -> None:
    found = client.tokenize(text=TEXT, model=MODEL, offline=False)
    assert "".join(found.token_strings) == TEXT
    assert len(found.tokens) == len(found.token_strings)
    assert client.detokenize(tokens=found.tokens, model=MODEL, offline=False).text == TEXT
    prompt = server.ask("/tokenize", {"input": TEXT}).json()["tokens"]
    assert str(found.tokens)[1:-1] in str(prompt)
    assert client.tokenize(text="", model=MODEL, offline=False).tokens == []


def test_errors_have_coheres_form(client: cohere.Client, server: LiveServer) -> None:
    with pytest.raises(NotFoundError):
        client.tokenize(text="x", model="embed-v4.0", offline=False)
    with pytest.raises(BadRequestError) as bad:
        client.detokenize(tokens=[10**6], model=MODEL, offline=False)
    assert bad.value.body["error"]["param"] == "tokens[0]"
    answer = server.http.post("/v1/tokenize", json={"model": MODEL})
    assert answer.json()["message"] == answer.json()["error"]["message"] == "`text`: required, got nothing"
    assert server.http.post("/v1/tokenize", json={"text": "x" * (3 << 20)}).status_code == 413


def test_the_key_and_the_models(client: cohere.Client, server: LiveServer) -> None:
    assert BaseCohere.check_api_key(client).valid is True  # `Client` itself has it switched off
    listed = client.models.list().models
    cards = server.http.get("/v1/models").json()
    assert [one.name for one in listed] == [card["id"] for card in cards["data"]]
    one = client.models.get(MODEL)
    assert (one.name, one.endpoints, one.context_length) == (MODEL, ["embed", "rerank"], cards["data"][0]["max_tokens"])


@pytest.mark.slow
def test_a_key_that_is_not_known_is_refused(start_server: Callable[..., LiveServer], tmp_path: Path) -> None:
    keys = write_keys(tmp_path / "keys", {"a": "cen_known"})
    server = start_server("--model", "builtin", "--api-keys", str(keys)).wait_until_ready()
    with pytest.raises(UnauthorizedError):
        BaseCohere.check_api_key(cohere.Client(base_url=server.url, api_key="other"))
    assert BaseCohere.check_api_key(cohere.Client(base_url=server.url, api_key="cen_known")).valid is True
