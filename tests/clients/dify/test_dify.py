"""Dify's classes for OpenAI-compatible servers, from the package that its plugins are built on."""

from typing import Any

import pytest
from dify_plugin.errors.model import CredentialsValidateFailedError
from dify_plugin.interfaces.model.openai_compatible.rerank import OAICompatRerankModel
from dify_plugin.interfaces.model.openai_compatible.text_embedding import OAICompatEmbeddingModel

from tests.clients.plain import CANDIDATES, LOOKED_FOR, MODEL, TEXTS, Plain, assert_same
from tests.clients.relay import Relay


class Embedding(OAICompatEmbeddingModel):
    """Without the estimate of tokens, which a process beside the plugin makes."""

    def _get_num_tokens_by_gpt2(self, text: str) -> int:
        return len(text)


def credentials(url: str) -> dict[str, Any]:
    return {"endpoint_url": f"{url}/v1", "api_key": "unused", "max_chunks": 2}


def test_embeddings(relay: Relay, plain: Plain) -> None:
    model = Embedding(model_schemas=[])
    model.validate_credentials(MODEL, credentials(relay.url))
    answer = model.invoke(MODEL, credentials(relay.url), TEXTS, user="5f3c")
    assert_same(answer.embeddings, plain.vectors({"input": TEXTS}))
    assert answer.usage.total_tokens > 0
    assert relay.sent[0].body == {"input": "ping", "model": MODEL}
    assert {"encoding_format", "user"} <= relay.sent[1].body.keys()


def test_a_model_that_is_not_served_is_not_accepted(plain: Plain) -> None:
    with pytest.raises(CredentialsValidateFailedError, match="404"):
        Embedding(model_schemas=[]).validate_credentials("nobody", credentials(plain.url))


def test_rerank(relay: Relay, plain: Plain) -> None:
    """It stretches scores to 0 and 1."""
    model = OAICompatRerankModel(model_schemas=[])
    model.validate_credentials(MODEL, credentials(relay.url))
    answer = model.invoke(MODEL, credentials(relay.url), LOOKED_FOR, CANDIDATES)
    status, scored = plain.post("/score", {"queries": LOOKED_FOR, "documents": CANDIDATES})
    assert status == 200
    scores = [one["score"] for one in scored["data"]]
    lowest, highest = min(scores), max(scores)
    want = sorted(((score - lowest) / (highest - lowest), i) for i, score in enumerate(scores))[::-1]
    assert [one.index for one in answer.docs] == [i for _, i in want]
    assert [one.text for one in answer.docs] == [CANDIDATES[i] for _, i in want]
    assert [one.score for one in answer.docs] == pytest.approx([score for score, _ in want], abs=1e-5)
    assert {sent.path for sent in relay.sent} == {"/v1/rerank"}
