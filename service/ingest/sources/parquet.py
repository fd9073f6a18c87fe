"""Parquet files: one record a row, read in small batches. Images are bytes, paths, or Hugging Face's image columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from service.ingest.errors import IngestError, load
from service.ingest.item import BadRecord, SourceItem
from service.ingest.sources.record import Fields, ImageFolder, read_record

BATCH_ROWS = 64
"""Rows in memory at once, besides what pyarrow reads ahead."""


class ParquetRows:
    """Rows of one file, or of all files of a folder sorted by name."""

    def __init__(self, paths: Sequence[Path], images: ImageFolder, fields: Fields) -> None:
        """Read `paths`, with image paths resolved by `images`."""
        self._paths = paths
        self._images = images
        self._fields = fields
        self._parquet = load("pyarrow.parquet", "parquet")

    def items(self) -> Iterator[SourceItem | BadRecord]:
        """Yield an item for each row; a damaged file ends the run."""
        for path in self._paths:
            number = 0
            with self._open(path) as file:
                for batch in self._batches(file, path):
                    for row in batch.to_pylist():
                        number += 1
                        place = f"{path.name} row {number}"
                        yield read_record(row, self._fields, self._images, place)

    def count(self) -> int:
        """Number of rows, from the files' footers."""
        total = 0
        for path in self._paths:
            with self._open(path) as file:
                total += file.metadata.num_rows
        return total

    def _open(self, path: Path) -> Any:
        try:
            return self._parquet.ParquetFile(path, memory_map=True)
        except (OSError, ValueError) as error:  # pyarrow's errors are one or the other
            raise IngestError(f"SOURCE {path}: {error}") from None

    def _batches(self, file: Any, path: Path) -> Iterator[Any]:
        try:
            yield from file.iter_batches(batch_size=BATCH_ROWS)
        except (OSError, ValueError) as error:
            raise IngestError(f"SOURCE {path}: {error}") from None
