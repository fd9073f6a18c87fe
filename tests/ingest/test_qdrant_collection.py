"""A Qdrant collection that somebody else made: what would compare or hold vectors in another way is refused by name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import qdrant_client

from service.ingest.errors import IngestError
from service.ingest.sinks.qdrant import QdrantCollection
from service.ingest.sinks.sink import Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import DENSE_ALONE, Layout

MODELS: Any = qdrant_client.models
ALONE, EVERY = Layout(DENSE_ALONE, 4), Layout(("dense", "sparse", "multi"), 4, 100)


def dense(**other: Any) -> Any:
    return MODELS.VectorParams(**{"size": 4, "distance": MODELS.Distance.COSINE} | other)


def multi() -> Any:
    return dense(multivector_config=MODELS.MultiVectorConfig(comparator=MODELS.MultiVectorComparator.MAX_SIM))


def every(**other: Any) -> dict[str, Any]:
    return {
        "vectors_config": {"dense": dense(), "multi": multi()} | other,
        "sparse_vectors_config": {"sparse": MODELS.SparseVectorParams()},
    }


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[QdrantCollection]:
    one = QdrantCollection(Target("qdrant", str(tmp_path), "items"))
    yield one
    one.close()


def make(folder: Path, **config: Any) -> None:
    client: Any = qdrant_client.QdrantClient(path=str(folder))
    client.create_collection("items", **config)
    client.close()


METRICS = {name: dense(distance=MODELS.Distance(name)) for name in ("Dot", "Euclid", "Manhattan")}
BY_DOT = multi().model_copy(update={"distance": MODELS.Distance.DOT})
WEIGHED = MODELS.SparseVectorParams(modifier=MODELS.Modifier.IDF)
REFUSED = [
    *((ALONE, {"vectors_config": one}, f"distance {name}.*expected.*Cosine") for name, one in METRICS.items()),
    *((EVERY, every(dense=one), f"distance {name}.*expected.*Cosine") for name, one in METRICS.items()),
    (EVERY, every(multi=BY_DOT), r"`multi` of 4 components, distance Dot.*expected.*distance Cosine, by max_sim"),
    # Qdrant casts what it gets: nearly every component of a unit vector would be zero.
    (ALONE, {"vectors_config": dense(datatype=MODELS.Datatype.UINT8)}, "stored as uint8.*expected"),
    (EVERY, every() | {"sparse_vectors_config": {"sparse": WEIGHED}}, "modifier idf.*expected.*modifier none"),
]
"""Layout, what a collection has, and what is said of it; weights that the model has given are not weighed again."""


@pytest.mark.parametrize(("layout", "config", "words"), REFUSED)
def test_one_that_compares_or_stores_otherwise_is_refused(
    sink: QdrantCollection, tmp_path: Path, layout: Layout, config: dict[str, Any], words: str
) -> None:
    make(tmp_path, **config)
    with pytest.raises(IngestError, match=words):
        sink.open(layout, Written())


def test_a_model_that_compares_by_dot_products_has_a_collection_that_does(
    sink: QdrantCollection, tmp_path: Path
) -> None:
    sink.open(Layout(("dense", "multi"), 4, by_dot=True), Written())
    made = sink._client.get_collection("items").config.params.vectors
    assert {name: one.distance.value for name, one in made.items()} == {"dense": "Dot", "multi": "Cosine"}
    sink.close()
    with pytest.raises(IngestError, match=r"distance Dot.*expected.*distance Cosine"):
        sink.open(Layout(("dense", "multi"), 4), Written(num_points=1))


@pytest.mark.parametrize(
    ("layout", "config"),
    [
        (ALONE, {"vectors_config": dense()}),
        (ALONE, {"vectors_config": dense(datatype=MODELS.Datatype.FLOAT32, on_disk=True)}),
        (EVERY, every()),
    ],
)
def test_one_that_compares_alike_is_filled(
    sink: QdrantCollection, tmp_path: Path, layout: Layout, config: dict[str, Any]
) -> None:
    make(tmp_path, **config)
    sink.open(layout, Written())
