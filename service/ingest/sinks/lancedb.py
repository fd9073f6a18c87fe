"""LanceDB sink: a table in a folder, rows merged by point."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.ingest.errors import load
from service.ingest.item import Point
from service.ingest.sinks.columns import arrow_schema, arrow_table
from service.ingest.sinks.sink import Sink, Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout, VectorKind

OPTIMIZE_EVERY = 32
"""Writes between compactions; each write adds a fragment, and merges read all fragments."""

COSINE, DOT = "cosine", "dot"
"""Metrics of indexes; without one a search names it."""


class LanceTable(Sink):
    """Columns as in Parquet; `metadata` is JSON."""

    batch_points = 1024
    max_wait_s = 2.0
    lacks: Mapping[VectorKind, str] = {
        "sparse": "LanceDB has neither a column nor a search for sparse vectors; its dense and token vectors stand "
        "beside its full-text search"
    }

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lance: Any = load("lancedb", "lancedb")
        self._arrow: Any = load("pyarrow", "lancedb")
        self._table: Any = None
        self._schema: Any = None
        self._layout = NO_LAYOUT
        self._num_writes = 0

    def open(self, layout: Layout, written: Written) -> None:
        """Open or create the table."""
        self._layout, self._num_writes = layout, written.position
        self._schema = arrow_schema(self._arrow, layout)
        try:
            database = self._lance.connect(self._target.place)
            is_there = self._target.name in database.list_tables().tables
            if written.num_points and not is_there:
                raise self._target.error(f"not there, and the ledger knows {written.num_points} points")
            if not is_there:
                database.create_table(self._target.name, schema=self._schema)
            self._table = database.open_table(self._target.name)
            self._check_columns()
            self._check_indexes()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise self._target.error(str(error)) from error

    def _check_columns(self) -> None:
        there = self._table.schema
        for name in map(self._layout.name, self._layout.outputs):
            wanted = self._schema.field(name).type
            got = there.field(name).type if name in there.names else "not there"
            if got != wanted:
                raise self._target.error(f"`{name}` is {got}, expected {wanted}")

    def _check_indexes(self) -> None:
        """Refuse indexes of other distances: a search that uses one has to ask for its distance."""
        metric = DOT if self._layout.by_dot else COSINE
        names = {self._layout.name(kind) for kind in self._layout.outputs}
        for index in self._table.list_indices():
            stats = self._table.index_stats(index.name)
            if names.isdisjoint(index.columns) or stats is None or stats.distance_type in (None, metric):
                continue
            raise self._target.error(
                f"the index {index.name} of `{index.columns[0]}` has the distance "
                f"{stats.distance_type}, expected {metric}"
            )

    def write(self, points: Sequence[Point]) -> int:
        """Merge rows by point, one commit. The position counts commits."""
        rows = arrow_table(self._arrow, self._schema, points, self._layout)
        try:
            merge = self._table.merge_insert("point").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(rows)
            self._num_writes += 1
            if self._num_writes % OPTIMIZE_EVERY == 0:
                self._table.optimize()
        except (OSError, ValueError, RuntimeError) as error:
            raise self._target.error(str(error)) from error
        return self._num_writes

    def close(self) -> None:
        """Compact the table."""
        if self._table is not None and self._num_writes:
            self._table.optimize()
