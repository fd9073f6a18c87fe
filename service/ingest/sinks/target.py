"""`--to` as it is written: `KIND:PLACE#NAME`, or a file whose suffix says the kind."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from service.ingest.errors import CommandLineError

KINDS = {
    "jsonl": "jsonl:FILE",
    "parquet": "parquet:FOLDER",
    "qdrant": "qdrant:FOLDER_OR_URL#COLLECTION",
    "lancedb": "lancedb:FOLDER#TABLE",
    "pgvector": "pgvector:postgresql://USER@HOST/DATABASE#TABLE",
    "milvus": "milvus:FILE.db#COLLECTION",
}
"""Each kind with how it is written."""

NAMED = ("qdrant", "lancedb", "pgvector", "milvus")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""Collections and tables: what all four stores take, and no quoting is needed for."""
DEFAULT_NAME = "cenote"


@dataclass(frozen=True, slots=True)
class Target:
    """One sink.

    Attributes:
        kind: which.
        place: a path or a URL.
        name: collection or table; empty for files.
    """

    kind: str
    place: str
    name: str = ""

    @property
    def is_url(self) -> bool:
        """Whether the place is on some server."""
        return "://" in self.place

    @property
    def described(self) -> str:
        """As it is written with everything said."""
        return f"{self.kind}:{self.place}" + (f"#{self.name}" if self.name else "")

    @property
    def identity(self) -> str:
        """What a ledger knows it by. Files may be moved together with their ledger."""
        place = self.place if self.is_url else Path(self.place).name
        return f"{self.kind}:{place}#{self.name}"

    @property
    def beside(self) -> Path:
        """Where ledger and dead letters go by default, less their suffix: beside a path, or in the working folder."""
        if self.is_url:
            return Path(f"{self.kind}.{self.name}")
        path = Path(self.place)
        return path.with_name(f"{path.name}.{self.name}") if self.name else path


def parse_target(written: str) -> Target:
    """Read `--to`.

    Raises:
        CommandLineError: it is none of `KINDS`, or has a password in it.
    """
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
    if "://" in place and urlsplit(place).password:
        raise CommandLineError(
            "--to: a password on a command line is seen by everybody on the machine; use PGPASSWORD or a .pgpass file, "
            "or QDRANT_API_KEY"
        )
    return Target(kind, place, name)
