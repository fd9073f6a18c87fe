"""Qdrant sink, embedded in a folder or at a URL: a collection with the model's distance.

Dense vectors alone are its unnamed vector. Other kinds are named vectors: `multi` is compared by MaxSim, and `sparse`
has no modifier, since the model has weighed the entries.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

from service.ingest.errors import IngestError, StoreDownError, load
from service.ingest.item import Point, Relabelled
from service.ingest.sinks.sink import Sink, Written, stored_fields
from service.ingest.sinks.target import Target
from service.ingest.vectors import DENSE_ALONE, NO_LAYOUT, Layout, floats, rows

TIMEOUT_S = 60
TOO_MANY, SERVER_ERROR = 429, 500
"""Statuses: the first of them, and from the second on."""
MAX_REQUEST_FLOATS = 1 << 20
"""Of one request; in JSON they have about 21 MB, and the server's limit is 32 MB unless set."""
MAX_MULTI_FLOATS = (1 << 20) - 1
"""Of one point's token vectors.

Source: qdrant `MAX_MULTIVECTOR_FLATTENED_LEN`, https://github.com/qdrant/qdrant/issues/9408.
"""


class QdrantCollection(Sink):
    """Payload: `id`, `instruction`, `text`, `metadata`. The key for a URL is `QDRANT_API_KEY`."""

    batch_points = 256

    def __init__(self, target: Target) -> None:
        self._target = target
        self._qdrant: Any = load("qdrant_client", "qdrant")
        self._client: Any = None
        self._layout = NO_LAYOUT

    def open(self, layout: Layout, written: Written) -> None:
        """Open or create the collection."""
        self._layout, name = layout, self._target.name
        self.close()
        try:
            self._client = self._connect()
            if self._client.collection_exists(name):
                self._check(self._client.get_collection(name).config.params)
            elif written.num_points:
                raise self._target.error(f"not there, and the ledger knows {written.num_points} points")
            else:
                self._client.create_collection(name, **self._config())
            if not self._target.is_url:
                _use_write_ahead_log(Path(self._target.place, "collection", name, "storage.sqlite"))
        except IngestError:
            raise
        except Exception as error:  # noqa: BLE001  # its transports and its embedded form raise errors of many types
            self._fail(error)

    def write(self, points: Sequence[Point]) -> int:
        """Upsert points, and wait until they are applied."""
        try:
            for some in _requests(points):
                self._client.upsert(self._target.name, [self._struct(point) for point in some], wait=True)
        except Exception as error:  # noqa: BLE001  # as above
            self._fail(error)
        return 0

    def relabel(self, points: Sequence[Relabelled]) -> None:
        """Replace `metadata` in the payloads."""
        models = self._qdrant.models
        payloads = ((str(one.ask.point), {"metadata": one.ask.item.metadata}) for one in points)
        operations = [
            models.SetPayloadOperation(set_payload=models.SetPayload(payload=payload, points=[point]))
            for point, payload in payloads
        ]
        try:
            self._client.batch_update_points(self._target.name, operations, wait=True)
        except Exception as error:  # noqa: BLE001  # as above
            self._fail(error)

    def delete(self, points: Sequence[UUID]) -> None:
        """Delete points."""
        selector = self._qdrant.models.PointIdsList(points=[str(point) for point in points])
        try:
            self._client.delete(self._target.name, selector, wait=True)
        except Exception as error:  # noqa: BLE001  # as above
            self._fail(error)

    def refuses(self, point: Point) -> str | None:
        """Refuse items with more token vectors than a point may have."""
        num_floats = len(point.vectors.multi) // 4
        if num_floats <= MAX_MULTI_FLOATS:
            return None
        return f"its token vectors have {num_floats} components; Qdrant holds {MAX_MULTI_FLOATS} in a point"

    def close(self) -> None:
        """Close the folder for other programs."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the error of a call: a server that cannot be reached, or fails, may answer later."""
        status = getattr(error, "status_code", 0)
        is_down = type(error).__name__ == "ResponseHandlingException" or status == TOO_MANY or status >= SERVER_ERROR
        if self._target.is_url and is_down:
            raise StoreDownError(f"--to {self._target.described}: {_first_line(error)}") from error
        raise self._target.error(_first_line(error)) from error

    def _config(self) -> dict[str, Any]:
        """Arguments of `create_collection`."""
        models, layout = self._qdrant.models, self._layout
        tokens = models.VectorParams(size=layout.dimensions, distance=models.Distance.COSINE)
        dense = tokens.model_copy(update={"distance": models.Distance.DOT}) if layout.by_dot else tokens
        if layout.outputs == DENSE_ALONE:
            return {"vectors_config": dense}
        by_max_sim = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        multi = tokens.model_copy(update={"multivector_config": by_max_sim})
        every = {"dense": dense, "multi": multi}
        config: dict[str, Any] = {
            "vectors_config": {kind: one for kind, one in every.items() if kind in layout.outputs}
        }
        if "sparse" in layout.outputs:
            config["sparse_vectors_config"] = {"sparse": models.SparseVectorParams()}
        return config

    def _struct(self, point: Point) -> Any:
        found, models = point.vectors, self._qdrant.models
        named: dict[str, Any] = {}
        if found.dense:
            named["dense"] = floats(found.dense).tolist()
        if found.sparse is not None:
            entries = found.sparse.indices.tolist(), found.sparse.values.tolist()
            named["sparse"] = models.SparseVector(indices=entries[0], values=entries[1])
        if found.multi:
            named["multi"] = rows(found.multi, self._layout.dimensions).tolist()
        vector = named["dense"] if self._layout.outputs == DENSE_ALONE else named
        return models.PointStruct(id=str(point.ask.point), vector=vector, payload=stored_fields(point))

    def _check(self, params: Any) -> None:
        """Compare with what a collection has."""
        got, expected = _described(params.vectors, params.sparse_vectors), self._described()
        if got != expected:
            raise self._target.error(f"the collection has {got}, expected {expected}")

    def _described(self) -> str:
        config = self._config()
        return _described(config["vectors_config"], config.get("sparse_vectors_config"))

    def _connect(self) -> Any:
        if not self._target.is_url:
            return self._qdrant.QdrantClient(path=self._target.place)
        key = os.environ.get("QDRANT_API_KEY")
        return self._qdrant.QdrantClient(
            url=self._target.place, api_key=key, timeout=TIMEOUT_S, check_compatibility=False
        )


def _requests(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The points in runs of at most `MAX_REQUEST_FLOATS`, or of one."""
    some: list[Point] = []
    num_floats = 0
    for point in points:
        size = point.vectors.num_bytes // 4
        if some and num_floats + size > MAX_REQUEST_FLOATS:
            yield some
            some, num_floats = [], 0
        some.append(point)
        num_floats += size
    yield some


def _use_write_ahead_log(database: Path) -> None:
    """Switch the embedded form's SQLite to a write-ahead log: five times as fast, since it commits point by point.

    SQLite stores the mode in the file.
    """
    if database.is_file():
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")


def _described(vectors: Any, sparse: Any) -> str:
    """Describe how a collection's vectors are stored and compared, in words; equal for equal ones."""
    if hasattr(vectors, "size"):
        return f"vectors of {_dense(vectors)}"
    named = [f"`{name}` of {_dense(one)}" for name, one in sorted((vectors or {}).items())]
    return "named vectors " + ", ".join(
        [*named, *(f"`{name}`, {_sparse(one)}" for name, one in sorted((sparse or {}).items()))]
    )


def _dense(params: Any) -> str:
    multi = params.multivector_config
    parts = [f"{params.size} components", f"distance {params.distance.value}"]
    parts += [f"by {multi.comparator.value}"] if multi else []
    return ", ".join(parts + _datatype(params))


def _sparse(params: Any) -> str:
    modifier = params.modifier.value if params.modifier else "none"
    return ", ".join(["sparse", f"modifier {modifier}", *_datatype(params.index)])


def _datatype(params: Any) -> list[str]:
    """The format of stored components, if it holds none of ours: Qdrant casts a unit vector to zeros of uint8."""
    name = params.datatype.value if params and params.datatype else ""
    return [f"stored as {name}"] if name == "uint8" else []


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
