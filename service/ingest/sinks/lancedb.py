"""LanceDB sink: a table in a folder, rows merged by point."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from service.ingest.errors import StoreDownError, load
from service.ingest.item import Point, Relabelled
from service.ingest.sinks.columns import arrow_schema, arrow_table
from service.ingest.sinks.sink import Sink, Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout, VectorKind

OPTIMIZE_EVERY = 32
"""Writes between compactions; each write adds a fragment, and merges read all fragments."""

PASSING = ("LanceError(IO)", "Not found: ", "Commit conflict", "error sending request", "Too many concurrent writers")
FULL = "No space left"
"""Words of errors."""
PLACES = re.compile(r",? ?/\S+\.rs:\d+:\d+")
"""Of LanceDB's own code, in its errors."""
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
        self._is_changed = False

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
            self._fail(error)

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
            self._is_changed = True
            if self._num_writes % OPTIMIZE_EVERY == 0:
                self._table.optimize()
        except (OSError, ValueError, RuntimeError) as error:
            self._fail(error)
        return self._num_writes

    def relabel(self, points: Sequence[Relabelled]) -> None:
        """Merge the rows that are there with other metadata, one commit."""
        labels = {str(one.ask.point): msgspec.json.encode(one.ask.item.metadata).decode() for one in points}
        try:
            rows = self._table.search().where(_are(labels)).limit(len(labels)).to_arrow()
            column = self._arrow.array([labels[point] for point in rows["point"].to_pylist()], self._arrow.string())
            rows = rows.set_column(rows.schema.get_field_index("metadata"), rows.schema.field("metadata"), column)
            self._table.merge_insert("point").when_matched_update_all().execute(rows)
            self._is_changed = True
        except (OSError, ValueError, RuntimeError) as error:
            self._fail(error)

    def delete(self, points: Sequence[UUID]) -> None:
        """Delete rows, one commit."""
        try:
            self._table.delete(_are(map(str, points)))
            self._is_changed = True
        except (OSError, ValueError, RuntimeError) as error:
            self._fail(error)

    def close(self) -> None:
        """Compact the table."""
        if self._table is not None and self._is_changed:
            self._table.optimize()

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the error of a call: a disk or a server of objects that fails may answer later, a full disk not."""
        words = PLACES.sub("", str(error))
        if any(passing in words for passing in PASSING) and FULL not in words:
            raise StoreDownError(f"--to {self._target.described}: {words.splitlines()[0]}") from None
        raise self._target.error(words) from error


def _are(points: Iterable[str]) -> str:
    return f"point IN ({', '.join(repr(point) for point in points)})"
