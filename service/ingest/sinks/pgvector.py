"""PostgreSQL sink with pgvector: a table with one row a point, one transaction a write."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from service.ingest.errors import IngestError, load
from service.ingest.item import Point
from service.ingest.sinks.sink import Sink
from service.ingest.sinks.target import Target

CREATE = """
CREATE TABLE IF NOT EXISTS {table} (point uuid PRIMARY KEY, id text NOT NULL, instruction text, text text,
                                    metadata jsonb NOT NULL, vector vector({dimensions}) NOT NULL)
"""
UPSERT = """
INSERT INTO {table} (point, id, instruction, text, metadata, vector) VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (point) DO UPDATE SET id = EXCLUDED.id, instruction = EXCLUDED.instruction, text = EXCLUDED.text,
                                  metadata = EXCLUDED.metadata, vector = EXCLUDED.vector
"""
DIMENSIONS = "SELECT atttypmod FROM pg_attribute WHERE attrelid = %s::regclass AND attname = 'vector'"
"""pgvector stores a column's dimensions there."""


class PgTable(Sink):
    """Creates extension and table if needed; libpq reads passwords from PGPASSWORD or a file."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._psycopg: Any = load("psycopg", "pgvector")
        self._connection: Any = None

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Connect, and open or create the table."""
        table, where = self._target.name, self._target.described
        try:
            self._connection = self._psycopg.connect(self._target.place, autocommit=True)
            self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            self._connection.execute(CREATE.format(table=table, dimensions=int(dimensions)))
            (found,) = self._connection.execute(DIMENSIONS, (table,)).fetchone()
            (is_filled,) = self._connection.execute(f"SELECT EXISTS (SELECT FROM {table})").fetchone()  # noqa: S608
        except self._psycopg.Error as error:
            raise IngestError(f"--to {where}: {str(error).strip()}") from None
        if found != dimensions:
            raise IngestError(f"--to {where}: the column has {found} components, expected {dimensions}")
        if num_done and not is_filled:
            raise IngestError(f"--to {where}: it is empty, and the ledger knows {num_done} points")

    def write(self, points: Sequence[Point]) -> int:
        """Upsert in one transaction."""
        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                cursor.executemany(UPSERT.format(table=self._target.name), [_row(point) for point in points])
        except self._psycopg.Error as error:
            raise IngestError(f"--to {self._target.described}: {str(error).strip()}") from None
        return 0

    def refuses(self, point: Point) -> str | None:
        """Refuse NUL characters, which PostgreSQL cannot store in text."""
        item = point.ask.item
        metadata = msgspec.json.encode(item.metadata)
        held = "\0" in (item.text or "") or "\0" in item.id or b"\\u0000" in metadata
        return "PostgreSQL's texts cannot hold a zero character" if held else None

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()


def _row(point: Point) -> tuple[object, ...]:
    item = point.ask.item
    vector = ",".join(map(repr, np.frombuffer(point.vector, "<f4").tolist()))
    metadata = msgspec.json.encode(item.metadata).decode()
    return point.ask.point, item.id, point.ask.instruction, item.text, metadata, f"[{vector}]"
