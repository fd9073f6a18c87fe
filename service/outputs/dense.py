"""Dense vectors: one for each input, in `/v1/embeddings` as numbers, base64 or raw bytes."""

from collections.abc import Sequence
from typing import ClassVar, Self, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from schemas.endpoints.embed_vectors import EmbeddingType
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.models import ScoreKind
from schemas.fields import EmbedDtype
from service.fairness import Steps
from service.outputs.ask import Compare, Offer, OutputAsk, Wanted
from service.outputs.block import NUM_BITS, NumberFormat, Row, Rows
from service.outputs.printing import WIDTHS, Base64String, DeferredValue, NumberList


class VectorsAsk(OutputAsk, frozen=True):
    """Vectors in some number formats; also what `cenote_kernels.finish` is given.

    Attributes:
        row: before the number format in the name of a row.
        dimensions: leading ones to keep.
        output_dtypes: number formats to make.
        normalize: scale to unit length after cutting; False keeps the raw vector.
    """

    row: ClassVar[str] = ""

    dimensions: int
    output_dtypes: tuple[NumberFormat, ...] = ("float32",)
    normalize: bool = True

    @property
    def bytes_each(self) -> int:
        """A vector in all of its formats."""
        return sum(self.dimensions * NUM_BITS[dtype] // 8 for dtype in self.output_dtypes)

    def are_whole(self, rows: Rows, num_vectors: int) -> bool:
        """A row for each format."""
        num_numbers = self.dimensions * num_vectors
        return all(len(rows.get(self.row + one, b"")) * 8 == num_numbers * NUM_BITS[one] for one in self.output_dtypes)


class DenseAsk(VectorsAsk, frozen=True, tag="dense"):
    """A vector of each input."""

    kind: ClassVar[str] = "dense"
    output: ClassVar[str] = "dense"
    words: ClassVar[str] = "one vector"
    types: ClassVar[Sequence[EmbeddingType]] = ("float", "int8", "uint8", "binary", "ubinary", "base64")

    @classmethod
    def of(cls, wanted: Wanted, offer: Offer) -> Self:
        """Each number format once."""
        return cls(dimensions=wanted.dimensions, output_dtypes=formats_of(wanted.types), normalize=wanted.normalize)

    @classmethod
    def json(cls, rows: Rows, type_: EmbeddingType, dimensions: int, offer: Offer) -> DeferredValue:
        """Base64, or a list of numbers."""
        row = rows.get(format_of(type_), b"")
        return Base64String(row) if type_ == "base64" else NumberList(row, format_of(type_))

    @classmethod
    def score_kind(cls, offer: Offer) -> ScoreKind:
        """As the model's files say."""
        return "dot" if offer.similarity == "dot" else "cosine"

    @classmethod
    def compare(cls, offer: Offer) -> Compare:
        """Dot products: cosines, where vectors are brought to length 1 first."""
        return vector if offer.similarity == "dot" else unit_vector, dot


def format_of(type_: EmbeddingType) -> NumberFormat:
    """The engine's number format of a type."""
    plain = type_.removeprefix("multi_")
    return "float32" if plain in ("float", "base64") else cast(NumberFormat, plain)


def formats_of(types: Sequence[EmbeddingType]) -> tuple[NumberFormat, ...]:
    """The number formats of types, each once."""
    distinct: dict[NumberFormat, None] = {format_of(type_): None for type_ in types}
    return tuple(distinct)


def vector(row: Row) -> NDArray[np.float64]:
    """A float32 row as `[dimensions]` in float64."""
    return np.frombuffer(row, "<f4").astype(np.float64)


def unit_vector(row: Row) -> NDArray[np.float64]:
    """The same, its length 1 more exactly than float32 holds it."""
    own = vector(row)
    return own / np.linalg.norm(own)


def dot(query: NDArray[np.float64], document: NDArray[np.float64]) -> Steps[float]:
    """The dot product of two vectors, `[dimensions]` each, in one step: the cosine of two of length 1."""
    yield
    return float(query @ document)


class VectorFormat(msgspec.Struct, frozen=True):
    """The result of `encoding_format`, `embed_dtype` and `endianness` of a request.

    Attributes:
        is_big_endian: byte order of the components in base64 and raw answers.
    """

    is_base64: bool = False
    dtype: EmbedDtype = "float32"
    is_big_endian: bool = False

    @classmethod
    def of(cls, request: EmbeddingRequest) -> "VectorFormat":
        """The format that a request asks for; `native` is little-endian, whatever machine this runs on."""
        return cls(request.encoding_format == "base64", request.embed_dtype or "float32", request.endianness == "big")

    def json(self, row: Row) -> DeferredValue:
        """A row as a JSON value."""
        if not self.is_base64:
            return NumberList(row, self.dtype)
        return Base64String(row, width=WIDTHS[self.dtype] if self.is_big_endian else 1)

    def raw(self, row: Row) -> Row | DeferredValue:
        """A row as it is sent without JSON."""
        return BigEndianRow(row, self.dtype) if self.is_big_endian else row


class BigEndianRow(DeferredValue):
    """A vector as bytes in big-endian order."""

    def __init__(self, row: Row, dtype: str) -> None:
        self._row = row
        self._width = WIDTHS[dtype]
        self.num_bytes = len(row)

    def chunks(self) -> tuple[bytes]:
        """The whole vector."""
        return (np.frombuffer(self._row, f"<u{self._width}").byteswap().tobytes(),)
