"""The command line of `cenote ingest`. Imports nothing of a run, so that other commands start fast."""

import argparse
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from service.byte_sizes import plain_bytes
from service.ingest.files.source_file import PageContent
from service.ingest.sinks.target import KINDS
from service.ingest.vectors import DENSE_ALONE, VECTOR_KINDS, VectorKind

MIN_S, MAX_S = 0.1, 86_400.0
"""Of a segment of a video, and of the patience with a server."""
MOST = 1 << 50
"""No machine has as many bytes, no source as many items."""


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed command line; each attribute is the flag of its name."""

    source: list[str]
    to: str
    server: str | None
    model: str | None
    revision: str | None
    device: str | None
    api_key_env: str | None
    instruction: list[str]
    outputs: tuple[VectorKind, ...]
    dimensions: int
    raw: bool
    truncate: bool
    id_field: str | None
    text_field: str
    image_field: str
    glob: str
    pages: PageContent | Literal["auto"]
    segment_s: float
    chunk_tokens: int
    chunk_chars: int
    chunk_overlap: int
    late_chunking: bool
    root: Path | None
    ledger: Path | None
    dead_letters: Path | None
    retry_failed: bool
    update: bool
    prune: bool
    max_errors: int
    concurrency: int
    batch_inputs: int
    batch_bytes: int
    window_bytes: int
    give_up_s: float
    json: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all flags, in the order of `--help`."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="+",
        help="folder of documents, images, PDFs and videos; such files; .jsonl, .csv, .tsv or .parquet file; - for "
        "JSONL on stdin",
    )
    parser.add_argument("--to", required=True, metavar="SINK", help=f"destination: {', '.join(KINDS.values())}")
    _add_server(parser.add_argument_group("the server"))
    _add_vectors(parser.add_argument_group("the vectors"))
    _add_records(parser.add_argument_group("the source"))
    _add_run(parser.add_argument_group("the run"))


def options_of(namespace: argparse.Namespace) -> Options:
    """The parsed command line."""
    return Options(**{name: getattr(namespace, name) for name in Options.__slots__})


def _add_server(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--server", metavar="URL", help="address of a running server; without it one is started for the run"
    )
    group.add_argument("--model", metavar="MODEL", help="model of that server, or of the server to start")
    group.add_argument("--revision", metavar="REVISION", help="server to start: commit, tag or branch of a hub id")
    group.add_argument("--device", metavar="DEVICE", help="server to start: auto, cpu, cuda or cuda:N")
    group.add_argument("--api-key-env", metavar="NAME", help="environment variable that holds the API key")


def _add_vectors(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--instruction",
        metavar="TEXT",
        action="append",
        default=[],
        help="instruction of the vectors; if repeated, an item has one vector for each, and its image is encoded once",
    )
    group.add_argument(
        "--outputs",
        type=_outputs,
        default=DENSE_ALONE,
        metavar="KINDS",
        help="kinds of vector, of one forward: dense,sparse,multi or some of them (default dense)",
    )
    _number(group, "--dimensions", 0, "length of the vectors (matryoshka)")
    group.add_argument("--raw", action="store_true", help="do not scale vectors to length 1")
    group.add_argument(
        "--truncate", action="store_true", help="cut texts that are too long, instead of splitting them into chunks"
    )


def _add_records(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--id-field", metavar="NAME", help="field of the id (default id; a digest of the record if absent)"
    )
    group.add_argument("--text-field", metavar="NAME", default="text", help="field of the text (default text)")
    group.add_argument(
        "--image-field", metavar="NAME", default="image", help="field of the image: path, URL, data URI (default image)"
    )
    group.add_argument(
        "--glob",
        metavar="PATTERN",
        default="",
        help="files of a folder, matched from the right (default: documents, images, PDFs, videos)",
    )
    group.add_argument(
        "--pages",
        choices=("auto", *get_args(PageContent)),
        default="auto",
        help="what is embedded of a PDF's page: its image, its text layer, or both as one input (default auto: image, "
        "or text where the model takes no images)",
    )
    group.add_argument(
        "--segment-s",
        type=_seconds,
        default=0,
        metavar="S",
        help="split videos into segments of S seconds (default: a video is one item)",
    )
    _number(
        group,
        "--chunk-tokens",
        0,
        "split texts into chunks of at most N of the model's tokens (default: what is longer than the model reads; "
        "documents from 512 on)",
    )
    _number(group, "--chunk-chars", 0, "split texts into chunks of at most N characters")
    _number(
        group, "--chunk-overlap", 0, "characters at most that a chunk repeats of the one before (default 0)", least=0
    )
    group.add_argument(
        "--late-chunking",
        action="store_true",
        help="the chunks of a text are read together, so that each knows the others (models that pool by the mean)",
    )
    group.add_argument(
        "--root",
        type=Path,
        metavar="FOLDER",
        help="folder that must contain the images that records name by path (default: the source's folder)",
    )


def _add_run(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--ledger", type=Path, metavar="FILE", help="record of what is done (default: beside the sink, .ledger)"
    )
    group.add_argument(
        "--dead-letters", type=Path, metavar="FILE", help="items that failed (default: beside the sink, .dead.jsonl)"
    )
    group.add_argument("--retry-failed", action="store_true", help="retry items that failed in earlier runs")
    group.add_argument(
        "--update",
        action="store_true",
        help="embed again what has changed in the source, and replace it in the store; metadata alone are not embedded",
    )
    group.add_argument("--prune", action="store_true", help="take out of the store what the source has no more")
    _number(group, "--max-errors", MOST, "stop when more than N items have failed", least=0)
    _number(group, "--concurrency", 4, "concurrent requests (default 4)", most=1024)
    _number(group, "--batch-inputs", 64, "maximum inputs of a request (default 64)")
    _number(group, "--batch-bytes", 8 << 20, "maximum size of a request (default 8MiB)", metavar="BYTES")
    _number(group, "--window-bytes", 64 << 20, "maximum size of items in memory (default 64MiB)", metavar="BYTES")
    group.add_argument(
        "--give-up-s",
        type=_seconds,
        default=300.0,
        metavar="S",
        help="stop when the server or the store takes nothing for S seconds (default 300)",
    )
    group.add_argument("--json", action="store_true", help="progress as JSON lines on stdout")


def _number(
    group: argparse._ArgumentGroup,
    flag: str,
    default: int,
    words: str,
    least: int = 1,
    most: int = MOST,
    metavar: Literal["N", "BYTES"] = "N",
) -> None:
    """Add a flag that takes an integer from `least` to `most`; one of bytes may have a unit."""

    def read(text: str) -> int:
        with suppress(ValueError):
            if least <= (value := int(text if metavar == "N" else plain_bytes(text))) <= most:
                return value
        unit = "" if metavar == "N" else ", or a size such as 8MiB"
        raise argparse.ArgumentTypeError(f"got {text!r}, expected an integer from {least} to {most}{unit}")

    group.add_argument(flag, type=read, default=default, metavar=metavar, help=words)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if MIN_S <= (value := round(float(text), 3)) <= MAX_S:
            return value
    raise argparse.ArgumentTypeError(f"got {text!r}, expected a number from {MIN_S:g} to {MAX_S:g}")


def _outputs(text: str) -> tuple[VectorKind, ...]:
    asked = [part.strip() for part in text.split(",")]
    if others := [part for part in asked if part not in VECTOR_KINDS]:
        raise argparse.ArgumentTypeError(f"got {others[0] or 'nothing'}, expected some of {','.join(VECTOR_KINDS)}")
    return tuple(kind for kind in VECTOR_KINDS if kind in asked)
