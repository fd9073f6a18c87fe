"""Sources of items, one module for each kind of SOURCE."""

import sys
from pathlib import Path

from service.ingest.errors import CommandLineError
from service.ingest.item import OpenSource
from service.ingest.sources.folder import Folder
from service.ingest.sources.parquet import ParquetRows
from service.ingest.sources.record import Fields, ImageFolder
from service.ingest.sources.rows import CsvRows, JsonLines


def open_source(where: str, fields: Fields, pattern: str | None, root: Path | None = None) -> OpenSource:
    """Open SOURCE.

    Args:
        where: a folder, a `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.parquet` file, a folder of Parquet files, or `-` for
            JSONL on stdin.
        pattern: of a folder's files; None takes every image.
        root: folder that must contain the files that records name; None is the source's folder.

    Raises:
        CommandLineError: no such file or folder, or another kind.
    """
    if where == "-":
        return JsonLines(None, fields, ImageFolder(Path(), root or Path()), sys.stdin.buffer)
    path = Path(where)
    base = path if path.is_dir() else path.parent
    images = ImageFolder(base, root or base)
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        return ParquetRows(parts, images, fields) if parts and pattern is None else Folder(path, pattern)
    if not path.is_file():
        raise CommandLineError(f"SOURCE {where}: no such file or folder")
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            return JsonLines(path, fields, images)
        case ".csv" | ".tsv":
            return CsvRows(path, fields, images)
        case ".parquet":
            return ParquetRows([path], images, fields)
        case suffix:
            raise CommandLineError(
                f"SOURCE {where}: got {suffix or 'no suffix'}, expected .jsonl, .csv, .tsv or .parquet"
            )
