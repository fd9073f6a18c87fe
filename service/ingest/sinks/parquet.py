"""Parquet sink: a folder of parts, each renamed into place when it is complete.

A part is made of many writes, which a `Spool` holds until then. When a run ends the spool becomes the last part, which
grows in the next run. Parts that the ledger does not have are written again.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from service.ingest.errors import IngestError, file_error, load
from service.ingest.item import Point
from service.ingest.sinks.columns import arrow_schema, arrow_table
from service.ingest.sinks.sink import Sink, Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout

PART_ROWS = 4096
MAX_PART_BYTES = 32 << 20
"""Of one part, held in memory until it is written."""
PART_BITS = 24
"""Low bits of a position, the number of complete parts; above them the bytes of the spool, 0 in older versions."""


class Spool:
    """Rows of a part that is not full yet, in a file that grows with each write, so that a kill loses none of them.

    In Arrow's stream format, one stream a write. Readers of the folder skip it: its name starts with a dot.

    Attributes:
        path: the file, which exists once there are rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables: list[Any] = []
        self.num_bytes = 0
        self._arrow: Any = load("pyarrow", "parquet")

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(table.num_rows for table in self.tables)

    def recover(self, num_bytes: int) -> None:
        """Read the rows of the first `num_bytes` of the file, and truncate the rest.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is shorter, or holds something else.
        """
        with self.path.open("r+b") as file:
            if os.fstat(file.fileno()).st_size < num_bytes:
                raise ValueError(f"{self.path.name}: expected {num_bytes} bytes, got fewer")
            file.truncate(num_bytes)
            while file.tell() < num_bytes:
                with self._arrow.ipc.open_stream(file) as stream:
                    self.tables.append(stream.read_all())
        self.num_bytes = num_bytes

    def append(self, table: Any) -> None:
        """Append rows and sync them to disk.

        Raises:
            OSError: the disk is full, for instance.
        """
        with self.path.open("ab") as file:
            file.truncate(self.num_bytes)  # remains of a failed write
            with self._arrow.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table)
            file.flush()
            os.fsync(file.fileno())
            self.num_bytes = file.tell()
        self.tables.append(table)

    def whole(self) -> Any:
        """All rows as one table."""
        return self._arrow.concat_tables(self.tables)


class ParquetFolder(Sink):
    """`part-00000.parquet` and so on, and `.part-00001.spool`; a position covers both."""

    can_change = False

    def __init__(self, target: Target) -> None:
        self._folder = Path(target.place)
        self._arrow: Any = load("pyarrow", "parquet")
        self._parquet: Any = load("pyarrow.parquet", "parquet")
        self._layout = NO_LAYOUT
        self._number = 0
        self._spool = Spool(self._folder)

    def open(self, layout: Layout, written: Written) -> None:
        """Resume the part that was not full, and delete what is after the ledger's position."""
        self._layout = layout
        num_bytes, self._number = divmod(written.position, 1 << PART_BITS)
        self._spool = Spool(self._spool_path(self._number))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            there = set(self._folder.iterdir())
            if there and written.is_first:
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
            self._spool = Spool(self._folder)  # otherwise `close` would write an incomplete part
            raise IngestError(f"--to {self._folder}: {error}") from None

    def write(self, points: Sequence[Point]) -> int:
        """Append to the spool, and write a part when it is full."""
        schema = arrow_schema(self._arrow, self._layout)
        try:
            self._clean_up()  # the ledger has the last position by now
            self._spool.append(arrow_table(self._arrow, schema, points, self._layout))
            if self._spool.num_rows >= PART_ROWS or self._spool.num_bytes >= MAX_PART_BYTES:
                self._write_part()
                self._number += 1
                self._spool = Spool(self._spool_path(self._number))
        except OSError as error:
            raise file_error("--to", self._folder, error) from None
        return self._number | self._spool.num_bytes << PART_BITS

    def close(self) -> None:
        """Write the remaining rows as a part, which the next run extends."""
        if not self._spool.tables:
            return
        try:
            self._write_part()
        except OSError as error:
            raise file_error("--to", self._folder, error) from None

    def _write_part(self) -> None:
        unfinished = self._folder / f".part-{self._number:05}.unfinished"
        with unfinished.open("wb") as file:
            self._parquet.write_table(self._spool.whole(), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(self._part(self._number))

    def _clean_up(self) -> None:
        """Delete spools of complete parts, and unfinished files of killed runs."""
        for pattern in (".*.spool", ".*.unfinished", "*.unfinished"):
            for path in self._folder.glob(pattern):
                if path != self._spool.path:
                    path.unlink(missing_ok=True)

    def _part(self, number: int) -> Path:
        return self._folder / f"part-{number:05}.parquet"

    def _spool_path(self, number: int) -> Path:
        return self._folder / f".part-{number:05}.spool"
