"""Parquet: a folder of parts, each renamed into place when it is whole. Parts that are not marked are written anew.

A part is made of many writes, which a `Spool` keeps until then. The last part is what the spool holds when a run ends,
and grows in the next one.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service.ingest.errors import IngestError
from service.ingest.extra import load
from service.ingest.item import Point
from service.ingest.sinks.columns import arrow_schema, arrow_table
from service.ingest.sinks.spool import Spool
from service.ingest.sinks.target import Target

PART_ROWS = 4096
MAX_PART_BYTES = 32 << 20
"""Vectors of one part: what is held in memory until it is written."""
PART_BITS = 24
"""Of a position: the number of whole parts; above them the bytes of the spool, which older versions lack."""


class ParquetFolder:
    """`part-00000.parquet` and so on, and `.part-00001.spool` beside them; a position tells of both."""

    batch_points = 512
    max_wait_s: float | None = 1.0

    def __init__(self, target: Target) -> None:
        self._folder = Path(target.place)
        self._arrow: Any = load("pyarrow", "parquet")
        self._parquet: Any = load("pyarrow.parquet", "parquet")
        self._dimensions = 0
        self._number = 0
        self._spool = Spool(self._folder)

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Take up the part that was not full, and delete what is behind `position`.

        Raises:
            IngestError: the folder's parts are not the ledger's.
        """
        self._dimensions = dimensions
        num_bytes, self._number = divmod(position or 0, 1 << PART_BITS)
        self._spool = Spool(self._spool_path(self._number))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            there = set(self._folder.iterdir())
            if there and position is None:
                raise IngestError(
                    f"--to {self._folder}: there are files, and no ledger that knows them; move them away"
                )
            if missing := {self._part(number) for number in range(self._number)} - there:
                raise IngestError(f"--to {self._folder}: {min(missing).name} is not there, and the ledger knows it")
            if num_bytes:
                self._spool.recover(num_bytes)
            else:
                self._part(self._number).unlink(missing_ok=True)
            self._clean_up()
        except (OSError, ValueError) as error:
            self._spool = Spool(self._folder)  # else `close` would make a part of half of it
            raise IngestError(f"--to {self._folder}: {error}") from None

    def write(self, points: Sequence[Point]) -> int:
        """Add to the spool, and make a part of it when that is full.

        Raises:
            IngestError: the disk is full, for instance.
        """
        schema = arrow_schema(self._arrow, self._dimensions)
        try:
            self._clean_up()  # the last position is marked by now
            self._spool.append(arrow_table(self._arrow, schema, points, self._dimensions))
            if self._spool.num_rows >= min(PART_ROWS, max(1, MAX_PART_BYTES // (4 * self._dimensions))):
                self._write_part()
                self._number += 1
                self._spool = Spool(self._spool_path(self._number))
        except OSError as error:
            raise IngestError(f"--to {self._folder}: {error.strerror or error}") from None
        return self._number | self._spool.num_bytes << PART_BITS

    def refuses(self, point: Point) -> str | None:
        """Nothing."""
        return None

    def close(self) -> None:
        """Make a part of what there is, which the next run makes anew.

        Raises:
            IngestError: the disk is full, for instance.
        """
        if not self._spool.tables:
            return
        try:
            self._write_part()
        except OSError as error:
            raise IngestError(f"--to {self._folder}: {error.strerror or error}") from None

    def _write_part(self) -> None:
        unfinished = self._folder / f".part-{self._number:05}.unfinished"
        with unfinished.open("wb") as file:
            self._parquet.write_table(self._spool.whole(), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(self._part(self._number))

    def _clean_up(self) -> None:
        """Delete spools of parts that are marked, and what kills have left."""
        for pattern in (".*.spool", ".*.unfinished", "*.unfinished"):
            for path in self._folder.glob(pattern):
                if path != self._spool.path:
                    path.unlink(missing_ok=True)

    def _part(self, number: int) -> Path:
        return self._folder / f"part-{number:05}.parquet"

    def _spool_path(self, number: int) -> Path:
        return self._folder / f".part-{number:05}.spool"
