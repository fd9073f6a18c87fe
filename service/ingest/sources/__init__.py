"""Where items come from: one file a kind, chosen by what SOURCE is."""

import sys
from pathlib import Path

from service.ingest.errors import IngestError
from service.ingest.sources.folder import Folder
from service.ingest.sources.parquet import ParquetRows
from service.ingest.sources.record import Fields
from service.ingest.sources.rows import CsvRows, JsonLines
from service.ingest.sources.source import Source


def open_source(where: str, fields: Fields, pattern: str | None) -> Source:
    """The source that SOURCE names.

    Args:
        where: a folder, a `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.parquet` file, a folder of the last, or `-` for
            JSONL on stdin.
        fields: which fields of a record are id, text and picture.
        pattern: of a folder's files; None takes every picture.

    Raises:
        IngestError: there is no such thing, or none of these kinds.
    """
    if where == "-":
        return JsonLines(None, fields, sys.stdin.buffer)
    path = Path(where)
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        return ParquetRows(parts, path, fields) if parts and pattern is None else Folder(path, pattern)
    if not path.is_file():
        raise IngestError(f"SOURCE {where}: no such file or folder")
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            return JsonLines(path, fields)
        case ".csv" | ".tsv":
            return CsvRows(path, fields)
        case ".parquet":
            return ParquetRows([path], path.parent, fields)
        case suffix:
            raise IngestError(f"SOURCE {where}: got {suffix or 'no suffix'}, expected .jsonl, .csv, .tsv or .parquet")
