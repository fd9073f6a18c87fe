"""The embeddings that NextPlaid's bundle for Langflow makes of a late-interaction model by vLLM's `/pooling`."""

from typing import Any

import httpx
import numpy as np
import pytest
from lfx_nextplaid.components.nextplaid.vllm_multivector_impl import VllmMultivectorEmbeddings

from tests.clients.client_page import page_client
from tests.clients.plain import LATE, TEXTS, Plain, assert_same
from tests.clients.relay import Relay

NAMES = {"VllmMultivectorEmbeddings": VllmMultivectorEmbeddings}


@pytest.fixture(autouse=True)
def _here_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Langflow connects to no address of its own machine that its operator has not named."""
    monkeypatch.setenv("LANGFLOW_SSRF_ALLOWED_HOSTS", "127.0.0.1")


def token_vectors(texts: Plain, given: list[str]) -> list[list[list[float]]]:
    """The same of `/v2/embed`, as documents."""
    body = {"model": LATE, "texts": given, "embedding_types": ["multi_float"], "input_type": "search_document"}
    status, answer = texts.post("/v2/embed", body)
    assert status == 200, answer
    return answer["embeddings"]["multi_float"]


def assert_same_rows(got: list[Any], want: list[Any]) -> None:
    assert [np.shape(one) for one in got] == [np.shape(one) for one in want]
    for one, other in zip(got, want, strict=True):
        assert_same(one, np.array(other, "<f4"))


def test_each_text_has_a_vector_of_each_token(relay: Relay, texts: Plain) -> None:
    relay.target = texts.url.removeprefix("http://")
    embeddings = page_client("lfx-nextplaid", relay.url, **NAMES)
    embeddings.model = LATE
    given = [text for text in TEXTS if text.strip()]
    assert_same_rows(embeddings.embed_documents(given), token_vectors(texts, given))
    assert_same_rows([embeddings.embed_query(given[0])], token_vectors(texts, given[:1]))
    assert [sent.path for sent in relay.sent] == ["/pooling"] * 2
    assert relay.sent[0].body == {"model": LATE, "input": given}


def test_a_refusal_is_not_repeated(relay: Relay, texts: Plain) -> None:
    relay.target = texts.url.removeprefix("http://")
    with pytest.raises(httpx.HTTPStatusError, match="404"):
        VllmMultivectorEmbeddings(relay.url, "nobody", max_retries=3).embed_documents(["a"])
    assert len(relay.sent) == 1
