"""PostgreSQL sink with pgvector: a table with one row a point, one transaction a write.

Dense vectors alone are the column `vector`. Other kinds have columns of their names: `sparse` is a `sparsevec`, `multi`
an array of vectors, which pgvector's operators compare one by one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from uuid import UUID

import msgspec
import numpy as np
from numpy.typing import NDArray

from service.ingest.errors import StoreDownError, load
from service.ingest.item import Point, Relabelled
from service.ingest.sinks.sink import Sink, Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout, SparseVector, VectorKind, Vectors, floats, rows

MAX_ENTRIES = 16_000
"""Of a sparse vector that is not zero.

Source: pgvector 0.8, README, "Sparse Vectors".
"""
COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""

OPERATOR_CLASSES = """
SELECT index.relname, attname, opcname FROM pg_index
JOIN pg_class index ON index.oid = indexrelid JOIN pg_am ON pg_am.oid = relam AND amname IN ('hnsw', 'ivfflat')
JOIN pg_opclass ON pg_opclass.oid = indclass[0]
JOIN pg_depend ON objid = indexrelid AND refobjid = indrelid
JOIN pg_attribute ON attrelid = indrelid AND attnum = refobjsubid AND attname = ANY(%s)
WHERE indrelid = %s::regclass ORDER BY index.relname
"""
"""Each index of a column of vectors, of an expression too (`vector::halfvec(1024)`), with how it compares."""
PASSING_STATES = ("08", "57P", "53300", "40")
"""Of errors that may pass: no connection, the server stops or starts, too many connections, a lost race.

Source: PostgreSQL documentation, appendix A, "PostgreSQL Error Codes".
"""
PASSING = ("the database system is", "terminating connection", "too many clients", "remaining connection slots")
"""The same while a connection is made, where libpq gives words alone."""
PATIENCE = {
    "connect_timeout": 20,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Seconds, and milliseconds: a server that vanishes without a word is noticed in a minute, not in two hours.

Source: PostgreSQL documentation, "Parameter Key Words" of libpq.
"""
COSINE, DOT = "cosine", "ip"
"""Metrics in the names of operator classes."""


class PgTable(Sink):
    """Creates extension and table if needed; libpq reads passwords from PGPASSWORD or a file."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._psycopg: Any = load("psycopg", "pgvector")
        self._connection: Any = None
        self._layout = NO_LAYOUT
        self._upsert = ""

    def open(self, layout: Layout, written: Written) -> None:
        """Connect, and open or create the table."""
        table = self._target.name
        types = _types(layout)
        self._layout, self._upsert = layout, _upsert(table, list(types))
        self.close()
        try:
            told = PATIENCE | self._psycopg.conninfo.conninfo_to_dict(self._target.place)
            self._connection = self._psycopg.connect(**told, autocommit=True)
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            self._connection.execute(_create(table, types))
            found = dict(self._connection.execute(COLUMNS, (table,)).fetchall())
            indexes = self._connection.execute(OPERATOR_CLASSES, (list(types), table)).fetchall()
            (is_filled,) = self._connection.execute(f"SELECT EXISTS (SELECT FROM {table})").fetchone()  # noqa: S608
        except self._psycopg.Error as error:
            self._fail(error)
        for name, wanted in types.items():
            if (got := found.get(name, "not there")) != wanted:
                raise self._target.error(f"the column {name} is {got}, expected {wanted}")
        self._check_indexes(indexes)
        if written.num_points and not is_filled:
            raise self._target.error(f"it is empty, and the ledger knows {written.num_points} points")

    def _check_indexes(self, indexes: Sequence[tuple[str, str, str]]) -> None:
        """Refuse a column whose indexes all compare in other ways: no search by the model's own would use them."""
        for kind in self._layout.outputs:
            metric = {"dense": DOT if self._layout.by_dot else COSINE, "sparse": DOT}.get(kind)
            column = self._layout.name(kind)
            found = {name: written for name, of, written in indexes if of == column}
            if found and not any(f"_{metric}_" in written or written.startswith("bit_") for written in found.values()):
                has = ", ".join(f"{name} ({written})" for name, written in found.items())
                raise self._target.error(f"the index of `{column}` is {has}, expected an operator class for {metric}")

    def write(self, points: Sequence[Point]) -> int:
        """Upsert in one transaction."""
        self._execute(self._upsert, [_row(point, self._layout) for point in points])
        return 0

    def relabel(self, points: Sequence[Relabelled]) -> None:
        """Update `metadata` in one transaction."""
        rows = [(msgspec.json.encode(one.ask.item.metadata).decode(), one.ask.point) for one in points]
        self._execute(f"UPDATE {self._target.name} SET metadata = %s WHERE point = %s", rows)  # noqa: S608  # ours

    def delete(self, points: Sequence[UUID]) -> None:
        """Delete rows in one transaction."""
        self._execute(f"DELETE FROM {self._target.name} WHERE point = %s", [(point,) for point in points])  # noqa: S608

    def _execute(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                cursor.executemany(statement, rows)
        except self._psycopg.Error as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the error of a call: a server that is gone, starts or stops may answer later."""
        words, state = str(error).strip(), getattr(error, "sqlstate", None) or ""
        is_lost = isinstance(error, self._psycopg.OperationalError | self._psycopg.InterfaceError) and not state
        is_refused = "FATAL" in words and not any(passing in words for passing in PASSING)
        if state.startswith(PASSING_STATES) or (is_lost and not is_refused):
            raise StoreDownError(f"--to {self._target.described}: {words}") from None
        raise self._target.error(words) from None

    def refuses(self, point: Point) -> str | None:
        """Refuse NUL characters, which PostgreSQL cannot store in text, and sparse vectors that are hardly sparse."""
        sparse = point.vectors.sparse
        if sparse is not None and len(sparse.indices) > MAX_ENTRIES:
            return f"its sparse vector has {len(sparse.indices)} entries; pgvector holds {MAX_ENTRIES}"
        item = point.ask.item
        metadata = msgspec.json.encode(item.metadata)
        held = "\0" in (item.text or "") or "\0" in item.id or b"\\u0000" in metadata
        return "PostgreSQL's texts cannot hold a zero character" if held else None

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _types(layout: Layout) -> dict[str, str]:
    """Type of each column of vectors, as PostgreSQL spells it."""
    every: dict[VectorKind, str] = {
        "dense": f"vector({layout.dimensions})",
        "sparse": f"sparsevec({layout.sparse_dimensions})",
        "multi": f"vector({layout.dimensions})[]",
    }
    return {layout.name(kind): every[kind] for kind in layout.outputs}


def _create(table: str, types: Mapping[str, str]) -> str:
    vectors = ", ".join(f"{name} {written} NOT NULL" for name, written in types.items())
    return (
        f"CREATE TABLE IF NOT EXISTS {table} (point uuid PRIMARY KEY, id text NOT NULL, instruction text, text text, "
        f"metadata jsonb NOT NULL, {vectors})"
    )


def _upsert(table: str, vectors: Sequence[str]) -> str:
    names = ["id", "instruction", "text", "metadata", *vectors]
    replaced = ", ".join(f"{name} = EXCLUDED.{name}" for name in names)
    marks = ", ".join(["%s"] * (1 + len(names)))
    return (
        f"INSERT INTO {table} (point, {', '.join(names)}) VALUES ({marks}) "  # noqa: S608  # names of ours
        f"ON CONFLICT (point) DO UPDATE SET {replaced}"
    )


def _row(point: Point, layout: Layout) -> tuple[object, ...]:
    item = point.ask.item
    metadata = msgspec.json.encode(item.metadata).decode()
    return point.ask.point, item.id, point.ask.instruction, item.text, metadata, *_literals(point.vectors, layout)


def _literals(vectors: Vectors, layout: Layout) -> list[object]:
    """The vectors in pgvector's notation, in the order of their columns."""
    literals: list[object] = []
    if vectors.dense:
        literals.append(_literal(floats(vectors.dense)))
    if vectors.sparse is not None:
        literals.append(_sparse_literal(vectors.sparse, layout))
    if vectors.multi:
        literals.append([_literal(row) for row in rows(vectors.multi, layout.dimensions)])
    return literals


def _literal(vector: NDArray[np.float32]) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _sparse_literal(sparse: SparseVector, layout: Layout) -> str:
    entries = zip(sparse.indices.tolist(), sparse.values.tolist(), strict=True)
    written = ",".join(f"{index + 1}:{value!r}" for index, value in entries)  # it counts from 1
    return f"{{{written}}}/{layout.sparse_dimensions}"
