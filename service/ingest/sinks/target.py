"""Parses `--to`: `KIND:PLACE#NAME`, or a file whose suffix is the kind."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from service.ingest.errors import CommandLineError, IngestError

KINDS = {
    "jsonl": "jsonl:FILE",
    "parquet": "parquet:FOLDER",
    "qdrant": "qdrant:FOLDER_OR_URL#COLLECTION",
    "lancedb": "lancedb:FOLDER#TABLE",
    "pgvector": "pgvector:postgresql://USER@HOST/DATABASE#TABLE",
    "milvus": "milvus:FILE.db_OR_URL#COLLECTION",
}
"""Kinds of sinks with their syntax."""

NAMED = ("qdrant", "lancedb", "pgvector", "milvus")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""Names of collections and tables that all four stores accept without quoting."""
DEFAULT_NAME = "cenote"
PLACES = {
    "qdrant": (re.compile(r"(?![\w.-]+:\d+/?$).+"), "http://HOST:6333 of a server, or a folder"),
    "pgvector": (re.compile(r".*=.*"), "postgresql://USER@HOST/DATABASE"),
    "milvus": (re.compile(r".+\.db"), "http://HOST:19530 of a server, or a file whose name ends with .db"),
    "lancedb": (re.compile(r".+"), "a folder"),
}
"""By kind: places that are not URLs, and what is expected."""


@dataclass(frozen=True, slots=True)
class Target:
    """The sink that `--to` names.

    Attributes:
        kind: key of `KINDS`.
        place: a path or a URL.
        name: collection or table; empty for files.
    """

    kind: str
    place: str
    name: str = ""

    @property
    def is_url(self) -> bool:
        """True if the place is a server."""
        return "://" in self.place

    @property
    def described(self) -> str:
        """The full form of `--to`."""
        return f"{self.kind}:{self.place}" + (f"#{self.name}" if self.name else "")

    def error(self, message: str) -> IngestError:
        """The error that names this sink."""
        return IngestError(f"--to {self.described}: {message}")

    @property
    def identity(self) -> str:
        """Identity in the ledger. Without the folder of a file, which may be moved with its ledger."""
        place = self.place if self.is_url else Path(self.place).name
        return f"{self.kind}:{place}#{self.name}"

    @property
    def beside(self) -> Path:
        """Default path of ledger and dead letters, less their suffix: beside a file, or in the working directory."""
        if self.is_url:
            return Path(f"{self.kind}.{self.name}")
        path = Path(self.place)
        return path.with_name(f"{path.name}.{self.name}") if self.name else path


def parse_target(written: str) -> Target:
    """Parse `--to`."""
    kind, colon, rest = written.partition(":")
    if not colon or kind not in KINDS:
        kind, rest = Path(written).suffix.removeprefix("."), written
    if kind not in KINDS or not rest:
        raise CommandLineError(f"--to {written}: expected one of {', '.join(KINDS.values())}")
    if kind not in NAMED:
        return Target(kind, rest)
    place, _, name = rest.partition("#")
    name = name or DEFAULT_NAME
    if not NAME.fullmatch(name):
        raise CommandLineError(f"--to {written}: got `{name}`, expected a name of letters, digits and underscores")
    places, expected = PLACES[kind]
    if "://" not in place and not places.fullmatch(place):
        raise CommandLineError(f"--to {written}: got {place or 'nothing'}, expected {expected}")
    if ("://" in place and urlsplit(place).password) or "password=" in place:
        raise CommandLineError(
            "--to: every user of the machine can read a password on a command line; use PGPASSWORD or a .pgpass file, "
            "or QDRANT_API_KEY"
        )
    return Target(kind, place, name)
