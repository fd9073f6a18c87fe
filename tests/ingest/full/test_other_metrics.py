"""Collections, tables and indexes that somebody else made: those of another metric are refused with both names."""

import contextlib
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import psycopg
import pyarrow as pa
import pymilvus
import pytest

from service.ingest.errors import IngestError
from service.ingest.sinks import make_sink
from service.ingest.sinks.columns import arrow_schema
from service.ingest.sinks.sink import Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import DENSE_ALONE, Layout

SIZE = 16
ALONE, BOTH = Layout(DENSE_ALONE, SIZE), Layout(("dense", "sparse"), SIZE, 100)


def opened(target: Target, layout: Layout) -> None:
    with contextlib.closing(make_sink(target)) as sink:
        sink.open(layout, Written())


def milvus(place: Path, **metrics: str) -> Target:
    client, types = pymilvus.MilvusClient(str(place)), pymilvus.DataType
    schema, index = client.create_schema(), client.prepare_index_params()
    schema.add_field("point", types.VARCHAR, is_primary=True, max_length=36)
    for field, metric in metrics.items():
        is_sparse = field == "sparse"
        schema.add_field(field, *([types.SPARSE_FLOAT_VECTOR] if is_sparse else [types.FLOAT_VECTOR]),
                         **({} if is_sparse else {"dim": SIZE}))  # fmt: skip
        index.add_index(field, index_type="SPARSE_INVERTED_INDEX" if is_sparse else "AUTOINDEX", metric_type=metric)
    client.create_collection("items", schema=schema, index_params=index)
    client.close()
    return Target("milvus", str(place), "items")


@pytest.mark.parametrize("metric", ["L2", "IP"])
def test_milvus(tmp_path: Path, metric: str) -> None:
    with pytest.raises(IngestError, match=f"`vector` has the metric {metric}, expected COSINE"):
        opened(milvus(tmp_path / "m.db", vector=metric), ALONE)


@pytest.mark.parametrize("metric", ["L2", "IP"])
def test_milvus_with_named_fields(tmp_path: Path, metric: str) -> None:
    with pytest.raises(IngestError, match=f"`dense` has the metric {metric}, expected COSINE"):
        opened(milvus(tmp_path / "m.db", dense=metric, sparse="IP"), BOTH)


def test_milvus_with_the_same_metric_is_filled(tmp_path: Path) -> None:
    opened(milvus(tmp_path / "m.db", dense="COSINE", sparse="IP"), BOTH)


def lance(place: Path, metric: str) -> Target:
    """A table with one index."""
    rows = 300
    vectors = np.random.default_rng(0).standard_normal((rows, SIZE), np.float32)
    text, lists = pa.array(["{}"] * rows), pa.FixedSizeListArray.from_arrays(vectors.reshape(-1), SIZE)
    table = lancedb.connect(str(place)).create_table(
        "items", pa.table([text] * 5 + [lists], schema=arrow_schema(pa, ALONE))
    )
    table.create_index("vector", config=lancedb.index.IvfFlat(distance_type=metric, num_partitions=2))
    table.create_scalar_index("id")
    return Target("lancedb", str(place), "items")


@pytest.mark.parametrize("metric", ["l2", "dot"])
def test_lancedb(tmp_path: Path, metric: str) -> None:
    with pytest.raises(IngestError, match=f"`vector` has the distance {metric}, expected cosine"):
        opened(lance(tmp_path / "l", metric), ALONE)


def test_lancedb_with_the_same_metric_is_filled(tmp_path: Path) -> None:
    opened(lance(tmp_path / "l", "cosine"), ALONE)


@pytest.mark.parametrize(
    ("indexes", "why"),
    [
        (["hnsw (vector vector_l2_ops)"], r"`vector` is items_\w+ \(vector_l2_ops\), expected .* for cosine"),
        (["hnsw (vector vector_ip_ops)"], r"\(vector_ip_ops\), expected .* for cosine"),
        (["hnsw (vector vector_l1_ops)"], r"\(vector_l1_ops\), expected .* for cosine"),
        (["ivfflat (vector) WITH (lists = 1)"], r"\(vector_l2_ops\), expected .* for cosine"),
        ([f"hnsw ((vector::halfvec({SIZE})) halfvec_l2_ops)"], r"\(halfvec_l2_ops\), expected .* for cosine"),
        (["hnsw (vector vector_cosine_ops)"], None),
        (["hnsw (vector vector_l2_ops)", "hnsw (vector vector_cosine_ops)"], None),
        ([f"hnsw ((vector::halfvec({SIZE})) halfvec_cosine_ops)"], None),
        ([f"hnsw ((binary_quantize(vector)::bit({SIZE})) bit_hamming_ops)"], None),
        (["btree (text)"], None),
        ([], None),
    ],
)
def test_pgvector(postgres: str, indexes: list[str], why: str | None) -> None:
    refused(postgres, ALONE, indexes, why)


@pytest.mark.parametrize(
    ("index", "why"),
    [
        ("sparse sparsevec_l2_ops", r"`sparse` is items_\w+ \(sparsevec_l2_ops\), expected .* for ip"),
        ("dense vector_l2_ops", r"`dense` is items_\w+ \(vector_l2_ops\), expected .* for cosine"),
        ("sparse sparsevec_ip_ops", None),
    ],
)
def test_pgvector_with_named_columns(postgres: str, index: str, why: str | None) -> None:
    refused(postgres, BOTH, [f"hnsw ({index})"], why)


def refused(postgres: str, layout: Layout, indexes: list[str], why: str | None) -> None:
    """Make the table with indexes, and open it once more."""
    target = Target("pgvector", postgres, "items")
    database: Any
    with psycopg.connect(postgres, autocommit=True) as database:
        database.execute("DROP TABLE IF EXISTS items")
        opened(target, layout)
        for index in indexes:
            database.execute(f"CREATE INDEX ON items USING {index}")
    with pytest.raises(IngestError, match=why) if why else contextlib.nullcontext():
        opened(target, layout)
