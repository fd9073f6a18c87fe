"""Milvus sink, Milvus Lite in a file or Milvus at a URL: a collection with cosine distance."""

import os
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from service.ingest.errors import IngestError, load
from service.ingest.item import Point
from service.ingest.sinks.sink import Sink, stored_fields
from service.ingest.sinks.target import Target

MAX_TEXT_BYTES = 65_535
"""Limit of a VARCHAR field, and of a JSON field less one byte.

Source: Milvus documentation, "Milvus Limits".
"""


class MilvusCollection(Sink):
    """`point`, `id`, `instruction`, `text`, `metadata`, `vector`; absent values are empty. `MILVUS_TOKEN` for a URL."""

    batch_points = 256

    def __init__(self, target: Target) -> None:
        self._target = target
        self._milvus: Any = load("pymilvus", "milvus")
        if not target.is_url:
            load("milvus_lite", "milvus")
        self._client: Any = None

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Open the collection, or create it with an index."""
        name, where = self._target.name, self._target.described
        try:
            token = os.environ.get("MILVUS_TOKEN", "") if self._target.is_url else ""
            self._client = self._milvus.MilvusClient(self._target.place, token=token)
            if not self._client.has_collection(name):
                if num_done:
                    raise IngestError(f"--to {where}: not there, and the ledger knows {num_done} points")
                self._create(dimensions)
            described = self._client.describe_collection(name)["fields"]
        except self._milvus.MilvusException as error:
            raise IngestError(f"--to {where}: {error.message}") from error
        found = {each["name"]: each.get("params", {}).get("dim") for each in described}.get("vector")
        if found is None or int(found) != dimensions:
            raise IngestError(f"--to {where}: `vector` has {found} components, expected {dimensions}")

    def write(self, points: Sequence[Point]) -> int:
        """Upsert points."""
        try:
            self._client.upsert(self._target.name, [_row(point) for point in points])
        except self._milvus.MilvusException as error:
            raise IngestError(f"--to {self._target.described}: {error.message}") from error
        return 0

    def refuses(self, point: Point) -> str | None:
        """Refuse texts longer than Milvus's fields."""
        item = point.ask.item
        sizes = {
            "id": len(item.id.encode()),
            "instruction": len((point.ask.instruction or "").encode()),
            "text": len((item.text or "").encode()),
            "metadata": len(msgspec.json.encode(item.metadata)),
        }
        long = [f"{name} has {size} bytes" for name, size in sizes.items() if size > MAX_TEXT_BYTES]
        return f"{', '.join(long)}; Milvus holds {MAX_TEXT_BYTES}" if long else None

    def close(self) -> None:
        """Close the file for other programs."""
        if self._client is not None:
            self._client.close()

    def _create(self, dimensions: int) -> None:
        types, schema = self._milvus.DataType, self._milvus.MilvusClient.create_schema()
        schema.add_field("point", types.VARCHAR, is_primary=True, max_length=36)
        for name in ("id", "instruction", "text"):
            schema.add_field(name, types.VARCHAR, max_length=MAX_TEXT_BYTES)
        schema.add_field("metadata", types.JSON)
        schema.add_field("vector", types.FLOAT_VECTOR, dim=dimensions)
        index = self._milvus.MilvusClient.prepare_index_params()
        index.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
        self._client.create_collection(self._target.name, schema=schema, index_params=index)


def _row(point: Point) -> dict[str, Any]:
    row = {name: value if value is not None else "" for name, value in stored_fields(point).items()}
    return row | {"point": str(point.ask.point), "vector": np.frombuffer(point.vector, "<f4").tolist()}
