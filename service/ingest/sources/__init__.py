"""Sources of items, one module for each kind of SOURCE."""

import sys
from pathlib import Path

from service.ingest.arguments import Options
from service.ingest.errors import CommandLineError
from service.ingest.item import OpenSource
from service.ingest.sources.documents import Documents
from service.ingest.sources.files import FileItems, Kinds, NamedFiles, kind_of
from service.ingest.sources.folder import Folder
from service.ingest.sources.parquet import ParquetRows
from service.ingest.sources.pdf import SUFFIX as PDF
from service.ingest.sources.record import Fields, ImageFolder
from service.ingest.sources.rows import CsvRows, JsonLines
from service.ingest.sources.video import SUFFIXES as VIDEOS


def file_kinds(pages: FileItems, videos: FileItems, documents: Documents) -> Kinds:
    """Who reads PDFs, videos and documents."""
    return {PDF: pages, **dict.fromkeys(VIDEOS, videos), **documents.by_suffix}


def open_source(options: Options, kinds: Kinds) -> OpenSource:
    """Open SOURCE; `kinds` read documents, PDFs and videos, of which it may have several.

    Otherwise it is one folder, `.jsonl`, `.ndjson`, `.csv`, `.tsv` or `.parquet` file, folder of Parquet files, or `-`
    for JSONL on stdin.
    """
    where = options.source
    for one in where:
        if one != "-" and not Path(one).exists():
            raise CommandLineError(f"SOURCE {one}: no such file or folder")
    readers = {one: kind_of(Path(one), kinds) if Path(one).is_file() else None for one in where}
    other = next((one for one, reader in readers.items() if reader is None), None)
    if other is not None and len(where) > 1:
        raise CommandLineError(
            f"SOURCE {other}: got {len(where)} sources, expected one, or documents, PDFs and videos alone"
        )
    if other is not None:
        return _open_one(other, options, kinds)
    for one, reader in readers.items():
        if reader is not None and reader.missing is not None:
            raise CommandLineError(f"SOURCE {one}: {reader.missing}")
    return NamedFiles([Path(one) for one in where], kinds)


def _open_one(where: str, options: Options, kinds: Kinds) -> OpenSource:
    fields = Fields(options.id_field, options.text_field, options.image_field)
    if where == "-":
        return JsonLines(None, fields, ImageFolder(Path(), options.root or Path()), sys.stdin.buffer)
    path = Path(where)
    base = path if path.is_dir() else path.parent
    images = ImageFolder(base, options.root or base)
    if path.is_dir():
        parts = sorted(path.glob("*.parquet"))
        return ParquetRows(parts, images, fields) if parts and not options.glob else Folder(path, options.glob, kinds)
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            return JsonLines(path, fields, images)
        case ".csv" | ".tsv":
            return CsvRows(path, fields, images)
        case ".parquet":
            return ParquetRows([path], images, fields)
        case suffix:
            raise CommandLineError(
                f"SOURCE {where}: got {suffix or 'no suffix'}, expected .jsonl, .csv, .tsv, .parquet, a "
                "document (.md, .txt, .html, .docx), a PDF or a video"
            )
