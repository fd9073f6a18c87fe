"""Points as an Arrow table, for Parquet and LanceDB."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from service.ingest.item import Point


def arrow_schema(arrow: Any, dimensions: int) -> Any:
    """Columns of a point; `metadata` is JSON, since items may have different fields. `arrow` is the module pyarrow."""
    names = ("point", "id", "instruction", "text", "metadata")
    text = [arrow.field(name, arrow.string(), nullable=name in ("instruction", "text")) for name in names]
    return arrow.schema([*text, arrow.field("vector", arrow.list_(arrow.float32(), dimensions), nullable=False)])


def arrow_table(arrow: Any, schema: Any, points: Sequence[Point], dimensions: int) -> Any:
    """The rows of `points`, in order, under `schema`."""
    asks = [point.ask for point in points]
    vectors = np.frombuffer(b"".join(point.vector for point in points), "<f4")
    columns = [
        [str(ask.point) for ask in asks],
        [ask.item.id for ask in asks],
        [ask.instruction for ask in asks],
        [ask.item.text for ask in asks],
        [msgspec.json.encode(ask.item.metadata).decode() for ask in asks],
    ]
    arrays = [arrow.array(column, arrow.string()) for column in columns]
    return arrow.table([*arrays, arrow.FixedSizeListArray.from_arrays(vectors, dimensions)], schema=schema)
