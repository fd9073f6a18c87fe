"""A row for each kind of output: an ask, what it gets of one input, and that in JSON."""

import base64
from typing import Any, NamedTuple

import numpy as np

from service.outputs.ask import Offer, OutputAsk
from service.outputs.block import Rows
from service.outputs.chunks import ChunksAsk
from service.outputs.dense import DenseAsk
from service.outputs.features import FeaturesAsk
from service.outputs.score import ScoreAsk
from service.outputs.sparse import SparseAsk, pack_sparse
from service.outputs.tokens import TokensAsk


class Case(NamedTuple):
    """One ask.

    Attributes:
        num_vectors: that its prompt has.
        json: of its rows by type of `/v2/embed`.
    """

    ask: OutputAsk
    rows: Rows
    num_vectors: int = 1
    json: dict[Any, Any] = {}  # noqa: RUF012  # never changed


def floats(*numbers: float) -> bytes:
    return np.array(numbers, "<f4").tobytes()


def in_base64(row: bytes) -> str:
    return base64.b64encode(row).decode()


OFFER = Offer(
    name="small",
    kinds=("dense", "sparse", "multi"),
    dimensions=8,
    normalize=True,
    pooling="mean",
    similarity="cosine",
    activation="identity",
    num_entries=100,
    token_of={3: "cat", 9: "hat"}.get,
    query_side="",
    looks_queries_up=False,
    gives_chunks=False,
    feature_width=0,
)
ONE, TWO = tuple(range(1, 9)), tuple(range(2, 10))
BITS = {"ubinary": b"\x81"}
ENTRIES = pack_sparse(np.array([3, 10]), np.array([0.5, 2.0]))

CASES = {
    "dense": Case(
        DenseAsk(dimensions=8, output_dtypes=("float32", "ubinary")),
        {"float32": floats(*ONE)} | BITS,
        json={"float": [*ONE], "ubinary": [0x81], "base64": in_base64(floats(*ONE))},
    ),
    "chunks": Case(ChunksAsk(dimensions=8), {"float32": floats(*ONE, *TWO)}, 2),
    "tokens": Case(
        TokensAsk(dimensions=8),
        {"multi_float32": floats(*ONE, *TWO)},
        2,
        {"multi_float": [[*ONE], [*TWO]], "multi_base64": in_base64(floats(*ONE, *TWO))},
    ),
    "pooled": Case(TokensAsk(dimensions=8, pool_factor=2.0), {"multi_float32": floats(*ONE)}, 3),
    "sparse": Case(
        SparseAsk(dimensions=8),
        {"sparse": ENTRIES},
        json={"sparse": {"indices": [3, 10], "values": [0.5, 2.0]}, "sparse_tokens": {"cat": 0.5, "[10]": 2.0}},
    ),
    "score": Case(ScoreAsk(), {"float32": floats(1.5)}),
    "features": Case(FeaturesAsk(dtype="float16", width=4), {"float16": bytes(16)}, 2),
}
