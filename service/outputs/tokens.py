"""Token vectors: one for each token of an input, for late interaction; documents may have fewer, by pooling.

Source: colpali-engine's `score_multi_vector`.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cenote_native import print_rows
from schemas.endpoints.embed_vectors import EmbeddingType
from schemas.endpoints.models import ScoreKind
from service.errors import InputError
from service.fairness import Steps
from service.outputs.ask import Compare, Needs, Offer, Wanted
from service.outputs.block import NUM_BITS, Row, Rows
from service.outputs.dense import VectorsAsk, format_of, formats_of
from service.outputs.plan import TokenPlan
from service.outputs.printing import BLOCK_BYTES, NUMBER_BYTES, Base64String, DeferredValue, numbers

MAX_POOLED = 4096
"""Vectors of one document that is pooled: their distances are 134 MB in float64, and are joined in some 0.6 s."""

BLOCK_VECTORS = 256
"""Of the query, that are compared together."""
BLOCK_PRODUCTS = 1 << 24
"""Products that are summed at once: a third of a millisecond with AVX-512, and the sums stay in a core's cache."""

Vectors = NDArray[np.float32]
"""`[tokens, dimensions]`"""


class TokensAsk(VectorsAsk, frozen=True, tag="tokens"):
    """A vector of each token.

    Attributes:
        pool_factor: by which token vectors become fewer; above 1 their number is known when they are there.
    """

    kind: ClassVar[str] = "tokens"
    output: ClassVar[str] = "multi"
    words: ClassVar[str] = "a vector for each token"
    types: ClassVar[Sequence[EmbeddingType]] = (
        "multi_float",
        "multi_int8",
        "multi_uint8",
        "multi_binary",
        "multi_ubinary",
        "multi_base64",
    )
    head_file: ClassVar[str] = "colbert_linear"
    needs: ClassVar[Needs] = "all"
    is_uniform: ClassVar[bool] = False
    follows_tokens: ClassVar[bool] = True
    is_kept: ClassVar[bool] = False
    is_picky: ClassVar[bool] = True
    row: ClassVar[str] = "multi_"

    pool_factor: float = 1.0

    @classmethod
    def of(cls, wanted: Wanted, offer: Offer) -> Self:
        """Each number format once; beside a dense vector always of unit length."""
        return cls(
            dimensions=wanted.dimensions,
            output_dtypes=formats_of(wanted.types),
            normalize=wanted.normalize or offer.kinds[0] != cls.output,
            pool_factor=wanted.pool_factor,
        )

    @property
    def bytes_each(self) -> int:
        """Nothing: each token has a vector, and how many there are is known later; see `bytes_of`."""
        return 0

    def bytes_of(self, num_tokens: int, param: str, most: int) -> int:
        """A vector for each token."""
        each = super().bytes_each
        num_bytes = num_tokens * each
        if num_bytes > most:
            message = (
                f"`{param}`: their vectors, one for each of {num_tokens} tokens, {each} bytes in the "
                f"formats asked for, take {num_bytes} bytes; one answer may hold {most}. Send fewer inputs at once"
            )
            raise InputError("too_many_inputs", message, param=param)
        return num_bytes

    def are_whole(self, rows: Rows, num_vectors: int) -> bool:
        """A row for each format, all of as many vectors; of pooled tokens fewer."""
        if self.pool_factor > 1:
            first = self.output_dtypes[0]
            found = len(rows.get(self.row + first, b"")) * 8 // (self.dimensions * NUM_BITS[first])
            num_vectors = max(1, min(found, num_vectors))
        return super().are_whole(rows, num_vectors)

    def check_prompt(self, plan: TokenPlan, has_media: bool, offer: Offer, param: str, index: int) -> None:
        """Refuse to pool a query, since a page model's texts are, or what has too many vectors."""
        if self.pool_factor == 1:
            return
        if not offer.query_side and not has_media:
            message = f"`{param}`: a text is a query of {offer.name}, and `pool_factor` is for documents, its pages"
            raise InputError("invalid_request", message, param=param, index=index)
        if (number := len(plan.ids) - len(plan.skipped)) > MAX_POOLED:
            message = f"`{param}`: has {number} vectors; with `pool_factor` it may have {MAX_POOLED}"
            raise InputError("context_length_exceeded", message, param=param, index=index)

    @classmethod
    def instead(cls, offer: Offer, route: str) -> str:
        """They have fields of their own in `/v2/embed`."""
        return (
            f"gives several vectors for each input, for which {route} has no place; send it to `/v2/embed` with "
            "`embedding_types` such as `multi_float`"
        )

    @classmethod
    def json(cls, rows: Rows, type_: EmbeddingType, dimensions: int, offer: Offer) -> DeferredValue:
        """Base64 of all vectors, or a list of lists of numbers."""
        dtype = format_of(type_)
        row = rows.get(cls.row + dtype, b"")
        if type_ == "multi_base64":
            return Base64String(row)
        return NumberLists(row, dtype, dimensions // 8 if dtype.endswith("binary") else dimensions)

    @classmethod
    def score_kind(cls, offer: Offer) -> ScoreKind:
        """As the model's files say."""
        return "mean_max_sim" if offer.similarity == "mean_max_sim" else "max_sim"

    @classmethod
    def compare(cls, offer: Offer) -> Compare:
        """MaxSim, or its mean."""
        how = mean_max_sim if offer.similarity == "mean_max_sim" else max_sim
        return lambda row: cls.numbers(row, offer.dimensions), how


def check_pooling(factor: float, instruction: str, offer: Offer) -> None:
    """Refuse a factor for a model that has no token vectors of its own, or for queries.

    Args:
        factor: of the request.
        instruction: that its `input_type` stands for.

    Raises:
        InputError: one is given that means nothing.
    """
    if offer.kinds[0] != TokensAsk.output:
        message = (
            f"`pool_factor`: got {factor:g}; it is for documents of late-interaction models, and the `outputs` of "
            f"{offer.name} are {', '.join(offer.kinds)}"
        )
        raise InputError("invalid_request", message, param="pool_factor")
    if offer.query_side and instruction == offer.query_side:
        message = f"`pool_factor`: got {factor:g} with an `input_type` of queries; only documents are pooled"
        raise InputError("invalid_request", message, param="pool_factor")


class NumberLists(DeferredValue):
    """Several vectors as a JSON array of arrays, printed a block at a time: a page has hundreds.

    Args:
        row: the vectors one after the other, possibly none.
        dimensions: components of a vector.
    """

    is_exact = False

    def __init__(self, row: Row, dtype: str, dimensions: int) -> None:
        self._vectors = numbers(row, dtype).reshape(-1, dimensions)
        self.num_bytes = self._vectors.size * NUMBER_BYTES + len("[]")

    def chunks(self) -> Iterator[bytes]:
        """The array in blocks."""
        step = max(1, BLOCK_BYTES // (self._vectors.shape[1] * NUMBER_BYTES))
        yield b"["
        for start in range(0, len(self._vectors), step):
            yield (b"," if start else b"") + b",".join(print_rows(self._vectors[start : start + step]))
        yield b"]"


def max_sim(query: Vectors, document: Vectors) -> Steps[float]:
    """sum_i max_j q_i · d_j, the largest similarity of each of the query's vectors; a step is a block of both sides."""
    total = 0.0
    for some in _blocks(query, BLOCK_VECTORS):
        best = np.full(len(some), -np.inf, np.float32)
        for others in _blocks(document, max(1, BLOCK_PRODUCTS // some.size)):
            np.maximum(best, (others @ some.T).max(axis=0), out=best)
            yield
        total += float(best.sum(dtype=np.float64))
    return total


def mean_max_sim(query: Vectors, document: Vectors) -> Steps[float]:
    """`max_sim` divided by the number of the query's vectors."""
    return (yield from max_sim(query, document)) / len(query)


def _blocks(vectors: Vectors, size: int) -> Iterator[Vectors]:
    return (vectors[start : start + size] for start in range(0, len(vectors), size))
