"""Points as an Arrow table, for Parquet and LanceDB."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import msgspec
import numpy as np

from service.ingest.item import Point
from service.ingest.vectors import Layout, SparseVector, VectorKind, floats


def arrow_schema(arrow: Any, layout: Layout) -> Any:
    """Columns of a point; `metadata` is JSON, since items may have different fields. `arrow` is the module pyarrow."""
    names = ("point", "id", "instruction", "text", "metadata")
    text = [arrow.field(name, arrow.string(), nullable=name in ("instruction", "text")) for name in names]
    types = _types(arrow, layout)
    return arrow.schema([*text, *(arrow.field(layout.name(kind), types[kind], nullable=False) for kind in types)])


def arrow_table(arrow: Any, schema: Any, points: Sequence[Point], layout: Layout) -> Any:
    """The rows of `points`, in order, under `schema`."""
    asks = [point.ask for point in points]
    columns = [
        [str(ask.point) for ask in asks],
        [ask.item.id for ask in asks],
        [ask.instruction for ask in asks],
        [ask.item.text for ask in asks],
        [msgspec.json.encode(ask.item.metadata).decode() for ask in asks],
    ]
    arrays = [arrow.array(column, arrow.string()) for column in columns]
    vectors = [_column(arrow, kind, points, layout) for kind in layout.outputs]
    return arrow.table([*arrays, *vectors], schema=schema)


def _types(arrow: Any, layout: Layout) -> dict[VectorKind, Any]:
    """A fixed-size list; a struct of two lists; a list of fixed-size lists."""
    dense = arrow.list_(arrow.float32(), layout.dimensions)
    lists = [("indices", arrow.list_(arrow.int32())), ("values", arrow.list_(arrow.float32()))]
    every: dict[VectorKind, Any] = {"dense": dense, "sparse": arrow.struct(lists), "multi": arrow.list_(dense)}
    return {kind: every[kind] for kind in layout.outputs}


def _column(arrow: Any, kind: VectorKind, points: Sequence[Point], layout: Layout) -> Any:
    vectors = [point.vectors for point in points]
    if kind == "sparse":
        return _sparse_column(arrow, [one.sparse for one in vectors if one.sparse is not None])
    found = [one.dense if kind == "dense" else one.multi for one in vectors]
    column = arrow.FixedSizeListArray.from_arrays(floats(b"".join(found)), layout.dimensions)
    if kind == "dense":
        return column
    ends = accumulate((len(one) // (4 * layout.dimensions) for one in found), initial=0)
    return arrow.ListArray.from_arrays(arrow.array(ends, arrow.int32()), column)


def _sparse_column(arrow: Any, vectors: Sequence[SparseVector]) -> Any:
    ends = arrow.array(accumulate((len(one.indices) for one in vectors), initial=0), arrow.int32())
    indices = np.concatenate([one.indices for one in vectors]).astype("<i4")
    values = np.concatenate([one.values for one in vectors])
    lists = [arrow.ListArray.from_arrays(ends, arrow.array(each)) for each in (indices, values)]
    return arrow.StructArray.from_arrays(lists, ["indices", "values"])
