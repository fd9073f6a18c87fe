"""Points of a Parquet part that is not full yet: a file that grows with each write, so that a kill keeps what it holds.

Arrow's stream format, a stream a write, one behind the other. Readers of the folder pass over a name with a dot before.
"""

import os
from pathlib import Path
from typing import Any

from service.ingest.extra import load


class Spool:
    """One file of rows, in the order of writing.

    Attributes:
        path: of the file, which is there as soon as there are rows.
        tables: the rows.
        num_bytes: how long the file is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tables: list[Any] = []
        self.num_bytes = 0
        self._arrow: Any = load("pyarrow", "parquet")

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return sum(table.num_rows for table in self.tables)

    def recover(self, num_bytes: int) -> None:
        """Take the rows of the first `num_bytes` of the file, and cut off what is behind them.

        Raises:
            OSError: it is shorter, or cannot be read.
            ValueError: it holds something else.
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
        """Keep rows, on the disk.

        Raises:
            OSError: the disk is full, for instance.
        """
        with self.path.open("ab") as file:
            file.truncate(self.num_bytes)  # what a write that failed has left
            with self._arrow.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table)
            file.flush()
            os.fsync(file.fileno())
            self.num_bytes = file.tell()
        self.tables.append(table)

    def whole(self) -> Any:
        """All rows as one table."""
        return self._arrow.concat_tables(self.tables)
