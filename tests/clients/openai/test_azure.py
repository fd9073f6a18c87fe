"""OpenAI's client for Azure: the address, any API version, and a deployment that is a model's name."""

import asyncio
from typing import Any, ClassVar

import openai
from openai import AsyncAzureOpenAI, AzureOpenAI

from tests.clients.contract import AsksAtOnce, ShortensVectors
from tests.clients.plain import MODEL, TEXTS, Plain, assert_same
from tests.clients.relay import Relay

SET = {"api_key": "unused", "api_version": "2024-10-21"}


class TestAzureOpenAI(ShortensVectors, AsksAtOnce):
    package, names = "openai for Azure", {"AzureOpenAI": AzureOpenAI}
    sends: ClassVar = {"encoding_format": "base64"}
    refusal = openai.BadRequestError

    def made(self, url: str, **more: Any) -> tuple[AzureOpenAI, dict[str, Any]]:
        return AzureOpenAI(azure_endpoint=url, **SET), more

    def vectors(self, client: AzureOpenAI | tuple[AzureOpenAI, dict[str, Any]], texts: list[str]) -> Any:
        made, more = client if isinstance(client, tuple) else (client, {})
        return [entry.embedding for entry in made.embeddings.create(model=MODEL, input=texts, **more).data]

    async def vectors_at_once(self, url: str, texts: list[str]) -> Any:
        async with AsyncAzureOpenAI(azure_endpoint=url, **SET) as client:
            answers = await asyncio.gather(*(client.embeddings.create(model=MODEL, input=text) for text in texts))
        return [answer.data[0].embedding for answer in answers]


def test_a_deployment_of_the_client_goes_before_the_calls_model(relay: Relay, plain: Plain) -> None:
    client = AzureOpenAI(azure_endpoint=relay.url, azure_deployment=MODEL, **SET)
    answer = client.embeddings.create(model="text-embedding-3-small", input=TEXTS)
    assert_same([entry.embedding for entry in answer.data], plain.vectors({"input": TEXTS}))
    (sent,) = relay.sent
    assert sent.path.startswith(f"/openai/deployments/{MODEL}/embeddings")
    assert sent.headers["api-key"] == "unused"
