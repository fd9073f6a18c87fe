"""Where items come from: one file a kind, chosen by what SOURCE is."""

import sys
from pathlib import Path

from service.ingest.errors import CommandLineError
from service.ingest.sources.folder import Folder
from service.ingest.sources.parquet import ParquetRows
from service.ingest.sources.record import Fields, ImageFolder
from service.ingest.sources.rows import CsvRows, JsonLines
from service.ingest.sources.source import Source


def open_source(where: str, fields: Fields, pattern: str | None, root: Path | None = None) -> Source:
    """The source that SOURCE names.

    Args:
        where: a folder, a `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.parquet` file, a folder of the last, or `-` for
            JSONL on stdin.
        fields: which fields of a record are id, text and picture.
        pattern: of a folder's files; None takes every picture.
        root: below which files that records name have to be; None is the source's folder.

    Raises:
        CommandLineError: there is no such thing, or none of these kinds.
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
