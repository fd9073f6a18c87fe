"""Sparse vectors in JSON: indices and values side by side, tokens as keys, or TEI's pairs; printed in their turn."""

from collections.abc import Callable, Iterator

import orjson

from service.http.responses.vector_format import NUMBER_BYTES, DeferredValue
from service.ipc.sparse_row import ENTRY_BYTES, unpack_sparse
from service.ipc.vectors import Row

INDEX_BYTES = 7
"""About what an index takes in JSON, its comma included."""
TOKEN_BYTES = 12
"""About what a token takes in JSON, its quotes, colon and comma included."""
PAIR_BYTES = len('{"index":,"value":},')


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

    def __init__(self, row: Row) -> None:
        self._row = row
        self.num_bytes = len(row) // ENTRY_BYTES * (NUMBER_BYTES + INDEX_BYTES + PAIR_BYTES) + len("[]")

    def chunks(self) -> tuple[bytes]:
        """The whole list."""
        indices, values = unpack_sparse(self._row)
        pairs = [{"index": index, "value": value} for index, value in zip(indices.tolist(), values, strict=True)]
        return (orjson.dumps(pairs, option=orjson.OPT_SERIALIZE_NUMPY),)
