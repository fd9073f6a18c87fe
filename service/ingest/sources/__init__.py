"""Sources of items, one module for each kind of SOURCE."""

import sys
from collections.abc import Sequence
from pathlib import Path

from service.decode.page_decoder import has_pdfium
from service.ingest.errors import CommandLineError, not_installed
from service.ingest.item import OpenSource
from service.ingest.sources.folder import Folder
from service.ingest.sources.parquet import ParquetRows
from service.ingest.sources.pdf import SUFFIX, PdfFiles, PdfPages
from service.ingest.sources.record import Fields, ImageFolder
from service.ingest.sources.rows import CsvRows, JsonLines


def open_source(
    where: Sequence[str], fields: Fields, pattern: str | None, pages: PdfPages, root: Path | None = None
) -> OpenSource:
    """Open SOURCE.

    Args:
        where: one folder, `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.parquet` file, folder of Parquet files, or `-` for
            JSONL on stdin; or `.pdf` files, one or more.
        pattern: of a folder's files; None takes every image and PDF.
        pages: reads PDFs.
        root: folder that must contain the files that records name; None is the source's folder.

    Raises:
        CommandLineError: no such file or folder, or another kind.
    """
    for one in where:
        if one != "-" and not Path(one).exists():
            raise CommandLineError(f"SOURCE {one}: no such file or folder")
    if all(Path(one).is_file() and Path(one).suffix.lower() == SUFFIX for one in where):
        if not has_pdfium():
            raise CommandLineError(f"SOURCE {where[0]}: {not_installed('pypdfium2', 'pdf')}")
        return PdfFiles([Path(one) for one in where], pages)
    if len(where) > 1:
        other = next(one for one in where if not one.lower().endswith(SUFFIX))
        raise CommandLineError(f"SOURCE {other}: got {len(where)} sources, expected one, or .pdf files alone")
    return _open_one(where[0], fields, pattern, pages, root)


def _open_one(where: str, fields: Fields, pattern: str | None, pages: PdfPages, root: Path | None) -> OpenSource:
    if where == "-":
        return JsonLines(None, fields, ImageFolder(Path(), root or Path()), sys.stdin.buffer)
    path = Path(where)
    base = path if path.is_dir() else path.parent
    images = ImageFolder(base, root or base)
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        return ParquetRows(parts, images, fields) if parts and pattern is None else Folder(path, pattern, pages)
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            return JsonLines(path, fields, images)
        case ".csv" | ".tsv":
            return CsvRows(path, fields, images)
        case ".parquet":
            return ParquetRows([path], images, fields)
        case suffix:
            raise CommandLineError(
                f"SOURCE {where}: got {suffix or 'no suffix'}, expected .jsonl, .csv, .tsv, .parquet or .pdf"
            )
