"""Qdrant sink, embedded in a folder or at a URL: a collection with cosine distance."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from service.ingest.errors import IngestError, load
from service.ingest.item import Point
from service.ingest.sinks.sink import Sink, stored_fields
from service.ingest.sinks.target import Target

TIMEOUT_S = 60


class QdrantCollection(Sink):
    """Payload: `id`, `instruction`, `text`, `metadata`. The key for a URL is `QDRANT_API_KEY`."""

    batch_points = 256

    def __init__(self, target: Target) -> None:
        self._target = target
        self._qdrant: Any = load("qdrant_client", "qdrant")
        self._client: Any = None

    def open(self, dimensions: int, position: int | None, num_done: int) -> None:
        """Open or create the collection."""
        models, name = self._qdrant.models, self._target.name
        try:
            self._client = self._connect()
            if self._client.collection_exists(name):
                _check(self._client.get_collection(name).config.params.vectors, dimensions, self._target)
            elif num_done:
                raise IngestError(f"--to {self._target.described}: not there, and the ledger knows {num_done} points")
            else:
                vectors = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
                self._client.create_collection(name, vectors_config=vectors)
            if not self._target.is_url:
                _use_write_ahead_log(Path(self._target.place, "collection", name, "storage.sqlite"))
        except IngestError:
            raise
        except Exception as error:  # its transports and its embedded form raise errors of many types
            raise IngestError(f"--to {self._target.described}: {_first_line(error)}") from error

    def write(self, points: Sequence[Point]) -> int:
        """Upsert points, and wait until they are applied."""
        structs = [
            self._qdrant.models.PointStruct(
                id=str(point.ask.point),
                vector=np.frombuffer(point.vector, "<f4").tolist(),
                payload=stored_fields(point),
            )
            for point in points
        ]
        try:
            self._client.upsert(self._target.name, structs, wait=True)
        except Exception as error:  # as above
            raise IngestError(f"--to {self._target.described}: {_first_line(error)}") from error
        return 0

    def close(self) -> None:
        """Close the folder for other programs."""
        if self._client is not None:
            self._client.close()

    def _connect(self) -> Any:
        if not self._target.is_url:
            return self._qdrant.QdrantClient(path=self._target.place)
        key = os.environ.get("QDRANT_API_KEY")
        return self._qdrant.QdrantClient(url=self._target.place, api_key=key, timeout=TIMEOUT_S)


def _use_write_ahead_log(database: Path) -> None:
    """Switch the embedded form's SQLite to a write-ahead log: five times as fast, since it commits point by point.

    SQLite stores the mode in the file.
    """
    if database.is_file():
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")


def _check(vectors: Any, dimensions: int, target: Target) -> None:
    size = getattr(vectors, "size", None)
    if size != dimensions:
        got = f"vectors of {size}" if size else "named vectors"
        raise IngestError(f"--to {target.described}: the collection has {got}, expected {dimensions} components")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
