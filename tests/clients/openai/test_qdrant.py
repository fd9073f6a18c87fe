"""OpenAI's client before Qdrant: each text must come back first when it is asked for."""

from openai import OpenAI
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

from tests.clients.plain import MODEL, Plain, numbered_texts


def test_a_text_is_the_nearest_to_itself(plain: Plain) -> None:
    store, texts = QdrantClient(":memory:"), numbered_texts(20)
    with OpenAI(base_url=f"{plain.url}/v1", api_key="unused") as client:
        vectors = [entry.embedding for entry in client.embeddings.create(model=MODEL, input=texts).data]
        store.create_collection("texts", VectorParams(size=len(vectors[0]), distance=Distance.COSINE))
        store.upsert("texts", [PointStruct(id=i, vector=vector) for i, vector in enumerate(vectors)])
        for i, text in enumerate(texts):
            asked = client.embeddings.create(model=MODEL, input=text).data[0].embedding
            first, second = store.query_points("texts", query=asked, limit=2).points
            assert (first.id, first.score > 0.9999) == (i, True)
            assert second.score < first.score
    store.close()
