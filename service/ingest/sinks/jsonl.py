"""JSONL sink: one line a point. A run first truncates the file to the ledger's position."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import orjson

from service.ingest.errors import IngestError, file_error
from service.ingest.item import Point
from service.ingest.sinks.sink import Sink, Written, stored_fields
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout, as_json


class JsonlFile(Sink):
    """`point`, `id`, `instruction`, `text`, `metadata`, vectors; floats with the fewest digits that round-trip."""

    can_change = False

    def __init__(self, target: Target) -> None:
        self._path = Path(target.place)
        self._file: BinaryIO | None = None
        self._layout = NO_LAYOUT

    def open(self, layout: Layout, written: Written) -> None:
        """Truncate the file to the ledger's position: a killed run may have left lines after it."""
        self._layout = layout
        try:
            num_bytes = self._path.stat().st_size if self._path.exists() else 0
            if num_bytes and written.is_first:
                raise IngestError(f"--to {self._path}: there is a file, and no ledger that knows it; move it away")
            if num_bytes < written.position:
                raise IngestError(
                    f"--to {self._path}: got {num_bytes} bytes, expected the {written.position} that the ledger knows; "
                    "delete the ledger to start anew"
                )
            self._file = self._path.open("ab")
            self._file.truncate(written.position)
        except OSError as error:
            raise file_error("--to", self._path, error) from None

    def write(self, points: Sequence[Point]) -> int:
        """Append lines and sync them to disk."""
        assert self._file is not None
        try:
            for point in points:
                line = {"point": str(point.ask.point)} | stored_fields(point) | as_json(point.vectors, self._layout)
                self._file.write(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise file_error("--to", self._path, error) from None
        return self._file.tell()

    def close(self) -> None:
        """Close the file."""
        try:
            if self._file is not None:
                self._file.close()
        except OSError as error:
            raise file_error("--to", self._path, error) from None
