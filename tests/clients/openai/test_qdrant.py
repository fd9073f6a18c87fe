"""OpenAI's client before Qdrant: what goes in comes back first."""

from openai import OpenAI

from tests.clients.plain import MODEL, Plain, numbered_texts
from tests.clients.stores import assert_each_is_found_first


def test_a_text_is_the_nearest_to_itself(plain: Plain) -> None:
    with OpenAI(base_url=f"{plain.url}/v1", api_key="unused") as client:

        def embed(texts: list[str]) -> list[list[float]]:
            return [entry.embedding for entry in client.embeddings.create(model=MODEL, input=texts).data]

        assert_each_is_found_first(embed, numbered_texts(20))
