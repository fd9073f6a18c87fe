"""Milvus sink, Milvus Lite in a file or Milvus at a URL: a collection with the model's distance."""

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from service.ingest.errors import IngestError, StoreDownError, load
from service.ingest.item import Point, Relabelled
from service.ingest.sinks.sink import Sink, Written, stored_fields
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout, VectorKind, floats

MAX_TEXT_BYTES = 65_535
"""Limit of a VARCHAR field, and of a JSON field less one byte.

Source: Milvus documentation, "Milvus Limits".
"""
TIMEOUT_S = 60.0
PASSING = ("connect", "UNAVAILABLE", "DEADLINE_EXCEEDED", "Retry", "timeout", "Socket closed")
"""Words of errors of the transport; pymilvus has one code for all of them."""
COSINE, DOT = "COSINE", "IP"
"""Metrics of indexes."""


class MilvusCollection(Sink):
    """`point`, `id`, `instruction`, `text`, `metadata`, vectors; absent values are empty. `MILVUS_TOKEN` for a URL."""

    batch_points = 256
    lacks: Mapping[VectorKind, str] = {
        "multi": "token vectors need Milvus's arrays of structs, of servers from 2.6.4 on, which Milvus Lite lacks and "
        "against which this program is not tested"
    }

    def __init__(self, target: Target) -> None:
        self._target = target
        self._milvus: Any = load("pymilvus", "milvus")
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it prints a traceback for what is waited for
        self._lite: Any = None if target.is_url else load("milvus_lite.server_manager", "milvus")
        self._client: Any = None
        self._layout = NO_LAYOUT

    def open(self, layout: Layout, written: Written) -> None:
        """Open the collection, or create it with an index."""
        self._layout = layout
        self.close()
        name = self._target.name
        try:
            token = os.environ.get("MILVUS_TOKEN", "") if self._target.is_url else ""
            self._client = self._milvus.MilvusClient(self._target.place, token=token)
            if not self._client.has_collection(name):
                if written.num_points:
                    raise self._target.error(f"not there, and the ledger knows {written.num_points} points")
                self._create()
            described = self._client.describe_collection(name)["fields"]
            indexes = [self._client.describe_index(name, each) for each in self._client.list_indexes(name)]
        except IngestError:
            raise
        except Exception as error:  # noqa: BLE001  # its own, and those of its transport
            self._fail(error)
        self._check({each["name"]: each for each in described})
        self._check_metrics({each["field_name"]: each["metric_type"] for each in indexes if each.get("metric_type")})

    def write(self, points: Sequence[Point]) -> int:
        """Upsert points."""
        try:
            self._client.upsert(self._target.name, [_row(point, self._layout) for point in points], timeout=TIMEOUT_S)
        except Exception as error:  # noqa: BLE001  # its own, and those of its transport
            self._fail(error)
        return 0

    def relabel(self, points: Sequence[Relabelled]) -> None:
        """Read rows, and upsert them with other metadata."""
        name, labels = self._target.name, {str(one.ask.point): one.ask.item.metadata for one in points}
        try:
            self._client.load_collection(name, timeout=TIMEOUT_S)  # only then it is read
            rows = self._client.get(name, list(labels), output_fields=["*"], timeout=TIMEOUT_S)
            if rows:
                changed = [dict(row) | {"metadata": labels[row["point"]]} for row in rows]
                self._client.upsert(name, changed, timeout=TIMEOUT_S)
        except Exception as error:  # noqa: BLE001  # its own, and those of its transport
            self._fail(error)

    def delete(self, points: Sequence[UUID]) -> None:
        """Delete by primary key."""
        try:
            self._client.delete(self._target.name, ids=[str(point) for point in points], timeout=TIMEOUT_S)
        except Exception as error:  # noqa: BLE001  # its own, and those of its transport
            self._fail(error)

    def refuses(self, point: Point) -> str | None:
        """Refuse texts longer than Milvus's fields, and sparse vectors without an entry."""
        item, sparse = point.ask.item, point.vectors.sparse
        if sparse is not None and not len(sparse.indices):
            return "its sparse vector has no entries; Milvus needs one"
        sizes = {
            "id": len(item.id.encode()),
            "instruction": len((point.ask.instruction or "").encode()),
            "text": len((item.text or "").encode()),
            "metadata": len(msgspec.json.encode(item.metadata)),
        }
        long = [f"{name} has {size} bytes" for name, size in sizes.items() if size > MAX_TEXT_BYTES]
        return f"{', '.join(long)}; Milvus holds {MAX_TEXT_BYTES}" if long else None

    def close(self) -> None:
        """Disconnect; of a file, end what serves it within this process, for others and to open it anew."""
        if self._client is not None:
            self._client.close()
            self._client = None
            if self._lite is not None:
                self._lite.server_manager_instance.release_server(self._target.place)

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the error of a call: a server that cannot be reached may answer later."""
        details = getattr(error, "details", None)  # gRPC's own errors have lines of their insides in their text
        words = getattr(error, "message", "") or str(details() if callable(details) else error)
        if self._target.is_url and any(passing in str(error) for passing in PASSING):
            raise StoreDownError(f"--to {self._target.described}: {words}") from error
        raise self._target.error(words) from error

    def _check(self, fields: Mapping[str, Mapping[str, Any]]) -> None:
        """Compare with what a collection has."""
        wanted = {self._layout.name(kind): kind for kind in self._layout.outputs}
        for name, kind in wanted.items():
            field = fields.get(name, {})
            got = field.get("params", {}).get("dim")
            is_sparse = field.get("type") == self._milvus.DataType.SPARSE_FLOAT_VECTOR
            if is_sparse if kind == "sparse" else str(got) == str(self._layout.dimensions):
                continue
            expected = "a sparse vector" if kind == "sparse" else f"{self._layout.dimensions} components"
            has = "is not there" if not field else "is sparse" if is_sparse else f"has {got} components"
            raise self._target.error(f"`{name}` {has}, expected {expected}")

    def _check_metrics(self, metrics: Mapping[str, str]) -> None:
        """Compare with the metrics of a collection's indexes, by field; one without an index gets it later."""
        for kind in self._layout.outputs:
            name, expected = self._layout.name(kind), self._metric(kind)
            if (got := metrics.get(name, expected)) != expected:
                raise self._target.error(f"the index of `{name}` has the metric {got}, expected {expected}")

    def _metric(self, kind: VectorKind) -> str:
        return DOT if kind == "sparse" or self._layout.by_dot else COSINE

    def _create(self) -> None:
        types, schema = self._milvus.DataType, self._milvus.MilvusClient.create_schema()
        schema.add_field("point", types.VARCHAR, is_primary=True, max_length=36)
        for name in ("id", "instruction", "text"):
            schema.add_field(name, types.VARCHAR, max_length=MAX_TEXT_BYTES)
        schema.add_field("metadata", types.JSON)
        index = self._milvus.MilvusClient.prepare_index_params()
        if "dense" in self._layout.outputs:
            name = self._layout.name("dense")
            schema.add_field(name, types.FLOAT_VECTOR, dim=self._layout.dimensions)
            index.add_index(name, index_type="AUTOINDEX", metric_type=self._metric("dense"))
        if "sparse" in self._layout.outputs:
            schema.add_field("sparse", types.SPARSE_FLOAT_VECTOR)
            index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type=self._metric("sparse"))
        self._client.create_collection(self._target.name, schema=schema, index_params=index)


def _row(point: Point, layout: Layout) -> dict[str, Any]:
    row = {name: value if value is not None else "" for name, value in stored_fields(point).items()}
    row["point"] = str(point.ask.point)
    if point.vectors.dense:
        row[layout.name("dense")] = floats(point.vectors.dense).tolist()
    if point.vectors.sparse is not None:
        indices, values = point.vectors.sparse.indices.tolist(), point.vectors.sparse.values.tolist()
        row["sparse"] = dict(zip(indices, values, strict=True))
    return row
