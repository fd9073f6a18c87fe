"""A vector store in memory, fed by a client: each text must come back first when it is asked for."""

from collections.abc import Callable, Sequence

from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams


def assert_each_is_found_first(embed: Callable[[list[str]], Sequence[Sequence[float]]], texts: list[str]) -> None:
    """Store the vectors of all texts in one go, then ask for each text by itself.

    Args:
        embed: texts to vectors, through the client under test.
        texts: all different.
    """
    store = QdrantClient(":memory:")
    vectors = embed(texts)
    store.create_collection("texts", VectorParams(size=len(vectors[0]), distance=Distance.COSINE))
    points = [PointStruct(id=i, vector=list(vector)) for i, vector in enumerate(vectors)]
    store.upsert("texts", points)
    for i, text in enumerate(texts):
        first, second = store.query_points("texts", query=list(embed([text])[0]), limit=2).points
        assert (first.id, first.score > 0.9999) == (i, True)
        assert second.score < first.score
    store.close()
