"""Sparse vectors: weights of entries of the vocabulary.

As bytes: indices, then values, little-endian, four bytes each.

Source: sentence-transformers 6.2 `SparseEncoder.similarity`, whose default is the dot product.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from schemas.endpoints.embed import EmbedRequest
from schemas.endpoints.embed_vectors import EmbeddingType
from schemas.endpoints.models import ScoreKind
from schemas.endpoints.tei import TeiSparseRequest
from service.errors import InputError
from service.fairness import Steps
from service.outputs.ask import Compare, Needs, Offer, OutputAsk, Wanted
from service.outputs.block import Row, Rows
from service.outputs.printing import NUMBER_BYTES, DeferredValue

SPARSE = "sparse"
"""The name of its row."""
ENTRY_BYTES = 8
EXPECTED_ENTRIES = 4096
"""That are reserved for before the model has run; trained models have some hundred for a long text."""

INDEX_BYTES = 7
"""About what an index takes in JSON, its comma included."""
TOKEN_BYTES = 12
"""About what a token takes in JSON, its quotes, colon and comma included."""
PAIR_BYTES = len('{"index":,"value":},')

AS_DOCUMENTS = "there was no `input_type`: the inputs were embedded as documents; queries are weighed by a table"


class SparseAsk(OutputAsk, frozen=True, tag="sparse"):
    """A sparse vector, whose length is known when it is there.

    Attributes:
        dimensions: of the model.
    """

    kind: ClassVar[str] = "sparse"
    output: ClassVar[str] = "sparse"
    words: ClassVar[str] = "a sparse vector"
    types: ClassVar[Sequence[EmbeddingType]] = ("sparse", "sparse_tokens")
    head_file: ClassVar[str] = "sparse_linear"
    needs: ClassVar[Needs] = "all"
    is_uniform: ClassVar[bool] = False
    is_measured: ClassVar[bool] = True
    is_unit: ClassVar[bool] = False

    dimensions: int

    @classmethod
    def of(cls, wanted: Wanted, offer: Offer) -> Self:
        """All entries, whatever they are written as."""
        return cls(dimensions=wanted.dimensions)

    @property
    def bytes_each(self) -> int:
        """Bytes reserved for a vector."""
        return ENTRY_BYTES * min(self.dimensions, EXPECTED_ENTRIES)

    def check_measured(self, num_bytes: int, param: str, most: int) -> None:
        """Refuse an answer that turned out too large."""
        if most and num_bytes > most:
            message = (
                f"`{param}`: their vectors, sparse ones among them, take {num_bytes} bytes; one answer may hold "
                f"{most}. Send fewer inputs at once"
            )
            raise InputError("too_many_inputs", message, param=param)

    def are_whole(self, rows: Rows, num_vectors: int) -> bool:
        """One row of whole entries, possibly none."""
        return SPARSE in rows and len(rows[SPARSE]) % ENTRY_BYTES == 0

    @classmethod
    def instead(cls, offer: Offer, route: str) -> str:
        """They have fields, and a route, of their own."""
        return (
            f"gives sparse vectors, for which {route} has no place; send it to `/v2/embed` with `embedding_types: "
            "[sparse]`, or to `/embed_sparse`"
        )

    @classmethod
    def lacking(cls, offer: Offer, route: str) -> str:
        """Other embedders' outputs go to `/v2/embed`."""
        kinds = ", ".join(offer.kinds)
        return f"gives no sparse vectors, and {route} no others; its `outputs` are {kinds}: send it to `/v2/embed`"

    @classmethod
    def json(cls, rows: Rows, type_: EmbeddingType, dimensions: int, offer: Offer) -> DeferredValue:
        """Indices and values, or tokens and weights."""
        row = rows.get(SPARSE, b"")
        return SparseObject(row) if type_ == "sparse" else SparseTokens(row, offer.token_of)

    @classmethod
    def numbers(cls, row: Row, dimensions: int) -> NDArray[np.float32]:
        """`[1, dimensions]`, zeros included."""
        weights = np.zeros((1, dimensions), np.float32)
        indices, values = unpack_sparse(row)
        weights[0, indices] = values
        return weights

    @classmethod
    def score_kind(cls, offer: Offer) -> ScoreKind:
        """Their lengths mean something."""
        return "dot"

    @classmethod
    def compare(cls, offer: Offer) -> Compare:
        """Dot products."""
        return entries, sparse_dot


def embed_sparse_ask(body: TeiSparseRequest, known: Iterable[str], offer: Offer) -> SparseAsk:
    """Output of a request of `/embed_sparse`.

    Args:
        known: names that its prompt may have.

    Raises:
        InputError: it does not say whether its texts are queries, whose vectors are made otherwise.
    """
    if offer.looks_queries_up and body.prompt_name is None:  # the answer has no room for a warning
        message = f"`prompt_name`: got none; {offer.name} weighs queries by a table and documents by its encoder"
        raise InputError("invalid_request", f"{message}: expected one of {', '.join(known)}", param="prompt_name")
    return SparseAsk(dimensions=offer.dimensions)


def side_warnings(body: EmbedRequest, offer: Offer) -> list[str]:
    """What an answer of `/v2/embed` says where the request did not say whether its texts are queries."""
    return [AS_DOCUMENTS] if offer.looks_queries_up and body.input_type is None else []


def pack_sparse(indices: NDArray[Any], values: NDArray[Any]) -> bytes:
    """The row of entries whose indices rise."""
    return indices.astype("<u4").tobytes() + values.astype("<f4").tobytes()


def unpack_sparse(row: Row) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Indices and values, `[num_entries]` each; of an empty row none."""
    half = len(row) // 2
    return np.frombuffer(row, "<u4", half // 4), np.frombuffer(row, "<f4", half // 4, half)


class SparseObject(DeferredValue):
    """``{"indices": [...], "values": [...]}``; of an empty row both are empty."""

    is_exact = False

    def __init__(self, row: Row) -> None:
        self._row = row
        self.num_bytes = len(row) // ENTRY_BYTES * (NUMBER_BYTES + INDEX_BYTES) + len('{"indices":[],"values":[]}')

    def chunks(self) -> Iterator[bytes]:
        """The whole object."""
        indices, values = unpack_sparse(self._row)
        yield b'{"indices":' + orjson.dumps(indices, option=orjson.OPT_SERIALIZE_NUMPY)
        yield b',"values":' + orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY) + b"}"


class SparseTokens(DeferredValue):
    """``{"token": weight, ...}``; of an empty row no entries.

    Args:
        row: the vector.
        token_of: the vocabulary's entry of an id; an id without one stands as ``[id]``.
    """

    is_exact = False

    def __init__(self, row: Row, token_of: Callable[[int], str | None]) -> None:
        self._row = row
        self._token_of = token_of
        self.num_bytes = len(row) // ENTRY_BYTES * (NUMBER_BYTES + TOKEN_BYTES) + len("{}")

    def chunks(self) -> tuple[bytes]:
        """The whole object."""
        indices, values = unpack_sparse(self._row)
        tokens = [self._token_of(index) or f"[{index}]" for index in indices.tolist()]
        return (orjson.dumps(dict(zip(tokens, values, strict=True)), option=orjson.OPT_SERIALIZE_NUMPY),)


class SparsePairs(DeferredValue):
    """``[{"index": ..., "value": ...}, ...]``, as text-embeddings-inference has it."""

    is_exact = False

    def __init__(self, rows: Rows) -> None:
        self._row = rows[SPARSE]
        self.num_bytes = len(self._row) // ENTRY_BYTES * (NUMBER_BYTES + INDEX_BYTES + PAIR_BYTES) + len("[]")

    def chunks(self) -> tuple[bytes]:
        """The whole list."""
        indices, values = unpack_sparse(self._row)
        pairs = [{"index": index, "value": value} for index, value in zip(indices.tolist(), values, strict=True)]
        return (orjson.dumps(pairs, option=orjson.OPT_SERIALIZE_NUMPY),)


class Entries(NamedTuple):
    """A sparse vector.

    Attributes:
        indices: `[num_entries]`, rising.
        values: `[num_entries]`.
    """

    indices: NDArray[Any]
    values: NDArray[Any]


def entries(row: Row) -> Entries:
    """The entries of a row."""
    return Entries(*unpack_sparse(row))


def sparse_dot(query: Entries, document: Entries) -> Steps[float]:
    """sum_i q_i d_i, over the indices that both have, in one step."""
    yield
    if not len(query.indices):
        return 0.0
    places = np.minimum(np.searchsorted(query.indices, document.indices), len(query.indices) - 1)
    shared = query.indices[places] == document.indices
    return float(query.values[places[shared]].astype(np.float64) @ document.values[shared].astype(np.float64))
