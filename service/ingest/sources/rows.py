"""JSONL and CSV: one record a line, read as a stream. An invalid line fails by its number; reading continues."""

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from service.ingest.errors import FailureReason
from service.ingest.item import BadRecord, SourceItem
from service.ingest.sources.record import MAX_DEPTH, Fields, ImageFolder, read_record

MAX_LINE_BYTES = 64 << 20
"""Longest line, above any server's limit even with an image as a data URI. A longer line is a dead letter."""
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One JSON object a line, of the file `path`, or of `stream` if that is None; empty lines are skipped."""

    path: Path | None
    fields: Fields
    images: ImageFolder
    stream: BinaryIO | None = None

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield an item for each line."""
        file = self.stream if self.path is None else self.path.open("rb")
        assert file is not None
        with file:
            for number, line in enumerate(_lines(file), 1):
                if not line or not line.isspace():
                    yield self._item(line, f"line {number}")

    def count(self) -> int | None:
        """Number of lines of the file; None for a stream."""
        return None if self.path is None else _count_lines(self.path)

    def _item(self, line: bytes, place: str) -> SourceItem | BadRecord:
        if not line:
            return BadRecord(place, FailureReason("invalid_record", f"{place}: more than {MAX_LINE_BYTES} bytes"))
        try:
            record = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return BadRecord(place, FailureReason("invalid_record", f"{place}: not a JSON object: {error}"))
        except RecursionError:
            return BadRecord(place, FailureReason("invalid_record", f"{place}: nested deeper than {MAX_DEPTH}"))
        return read_record(record, self.fields, self.images, place)


@dataclass(frozen=True, slots=True)
class CsvRows:
    """One record a row, with a header; separated by commas, or by tabs in `.tsv`. UTF-8, with or without a BOM."""

    path: Path
    fields: Fields
    images: ImageFolder

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield an item for each row."""
        csv.field_size_limit(min(MAX_LINE_BYTES, sys.maxsize))
        delimiter = "\t" if self.path.suffix.lower() == ".tsv" else ","
        with self.path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            rows = csv.DictReader(file, delimiter=delimiter)
            for number, row in enumerate(_rows(rows), 1):
                place = f"row {number}"
                if isinstance(row, str):
                    yield BadRecord(place, FailureReason("invalid_record", f"{place}: {row}"))
                elif None in row or None in row.values():
                    count = len(rows.fieldnames or ())
                    yield BadRecord(place, FailureReason("invalid_record", f"{place}: not the header's {count} fields"))
                else:
                    yield read_record(row, self.fields, self.images, place)

    def count(self) -> int:
        """Approximate number of rows: lines after the header, though a field may contain several."""
        return max(0, _count_lines(self.path) - 1)


def _rows(rows: "csv.DictReader[str]") -> Iterator[dict[Any, Any] | str]:
    """Each row, or the parser's error."""
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield str(error)
            continue
        if row is None:
            return
        yield row


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Each line; empty bytes instead of a line that is too long, of which no more than the limit is kept in memory."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(BLOCK_BYTES)
        yield b""


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK_BYTES), b""))
