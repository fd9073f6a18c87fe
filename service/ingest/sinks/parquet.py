"""Parquet: a folder of parts, each renamed into place when it is whole. Parts that are not marked are deleted."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service.ingest.errors import IngestError
from service.ingest.extra import load
from service.ingest.item import Point
from service.ingest.sinks.columns import arrow_schema, arrow_table
from service.ingest.sinks.target import Target

MAX_PART_BYTES = 32 << 20
"""Vectors of one part: what is held in memory until it is written, and done again after a kill."""


class ParquetFolder:
    """`part-00000.parquet` and so on; a position is the number of parts."""

    batch_points = 4096
    max_wait_s: float | None = None

    def __init__(self, target: Target) -> None:
        self._folder = Path(target.place)
        self._arrow: Any = load("pyarrow", "parquet")
        self._parquet: Any = load("pyarrow.parquet", "parquet")
        self._dimensions = 0
        self._position = 0

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Delete what is behind `position`.

        Raises:
            IngestError: the folder's parts are not the ledger's.
        """
        self._dimensions, self._position = dimensions, position or 0
        self.batch_points = max(1, min(self.batch_points, MAX_PART_BYTES // (4 * dimensions)))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            there = set(self._folder.iterdir())
            if there and position is None:
                raise IngestError(
                    f"--to {self._folder}: there are files, and no ledger that knows them; move them away"
                )
            if missing := {self._part(number) for number in range(self._position)} - there:
                raise IngestError(f"--to {self._folder}: {min(missing).name} is not there, and the ledger knows it")
            for path in (self._part(self._position), *self._folder.glob("*.unfinished")):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise IngestError(f"--to {self._folder}: {error.strerror}") from None

    def write(self, points: Sequence[Point]) -> int:
        """Write one part.

        Raises:
            IngestError: the disk is full, for instance.
        """
        schema = arrow_schema(self._arrow, self._dimensions)
        table = arrow_table(self._arrow, schema, points, self._dimensions)
        unfinished = self._unfinished(self._position)
        try:
            with unfinished.open("wb") as file:
                self._parquet.write_table(table, file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(self._part(self._position))
        except OSError as error:
            raise IngestError(f"--to {self._folder}: {error.strerror or error}") from None
        self._position += 1
        return self._position

    def refuses(self, point: Point) -> str | None:
        """Nothing."""
        return None

    def close(self) -> None:
        """Nothing is open."""

    def _part(self, number: int) -> Path:
        return self._folder / f"part-{number:05}.parquet"

    def _unfinished(self, number: int) -> Path:
        return self._folder / f"part-{number:05}.unfinished"
