"""LanceDB sink: a table in a folder, rows merged by point."""

from collections.abc import Sequence
from typing import Any

from service.ingest.errors import IngestError, load
from service.ingest.item import Point
from service.ingest.sinks.columns import arrow_schema, arrow_table
from service.ingest.sinks.sink import Sink
from service.ingest.sinks.target import Target

OPTIMIZE_EVERY = 32
"""Writes between compactions; each write adds a fragment, and merges read all fragments."""


class LanceTable(Sink):
    """Columns as in Parquet; `metadata` is JSON."""

    batch_points = 1024
    max_wait_s: float | None = 2.0

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lance: Any = load("lancedb", "lancedb")
        self._arrow: Any = load("pyarrow", "lancedb")
        self._table: Any = None
        self._schema: Any = None
        self._dimensions = 0
        self._num_writes = 0

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Open or create the table."""
        self._dimensions, self._num_writes = dimensions, position or 0
        self._schema = arrow_schema(self._arrow, dimensions)
        where = self._target.described
        try:
            database = self._lance.connect(self._target.place)
            is_there = self._target.name in database.list_tables().tables
            if num_done and not is_there:
                raise IngestError(f"--to {where}: not there, and the ledger knows {num_done} points")
            if not is_there:
                database.create_table(self._target.name, schema=self._schema)
            self._table = database.open_table(self._target.name)
            if self._table.schema.field("vector").type != self._schema.field("vector").type:
                got = self._table.schema.field("vector").type
                raise IngestError(f"--to {where}: `vector` is {got}, expected {dimensions} components of float32")
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise IngestError(f"--to {where}: {error}") from error

    def write(self, points: Sequence[Point]) -> int:
        """Merge rows by point, one commit. The position counts commits."""
        rows = arrow_table(self._arrow, self._schema, points, self._dimensions)
        try:
            merge = self._table.merge_insert("point").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(rows)
            self._num_writes += 1
            if self._num_writes % OPTIMIZE_EVERY == 0:
                self._table.optimize()
        except (OSError, ValueError, RuntimeError) as error:
            raise IngestError(f"--to {self._target.described}: {error}") from error
        return self._num_writes

    def close(self) -> None:
        """Compact the table."""
        if self._table is not None and self._num_writes:
            self._table.optimize()
