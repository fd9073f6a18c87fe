"""`embedding_types` of Cohere's requests: which a model gives, what the engine makes for each, how each is written.

A `multi_` type is its twin with a vector for each token. Knows no request and no answer.
"""

from collections.abc import Sequence
from functools import partial
from typing import get_args

from schemas.embed_vectors import EmbeddingType
from service.errors import InputError
from service.front.served_model import ServedModel
from service.http.late import Late
from service.http.vector_format import float_list, integer_list, late_base64, late_base64_rows, late_list, late_rows
from service.ipc.messages import Row

MULTI = "multi_"
DTYPES = {"int8": "i1", "binary": "i1", "uint8": "u1", "ubinary": "u1"}
"""What numpy calls numbers of 8 bits."""


def types_of(asked: Sequence[EmbeddingType] | None, model: ServedModel) -> list[EmbeddingType]:
    """The types to answer in, each once.

    Args:
        asked: by the request; None for the model's numbers.
        model: who answers.

    Raises:
        InputError: the model gives one vector for each input and several were asked for, or the other way round.
    """
    several = model.is_multi_vector
    types: list[EmbeddingType] = list(asked or ["multi_float" if several else "float"])
    for index, kind in enumerate(types):
        if kind.startswith(MULTI) != several:
            offered = ", ".join(one for one in get_args(EmbeddingType) if one.startswith(MULTI) == several)
            param, gives = f"embedding_types[{index}]", "a vector for each token" if several else "one vector"
            message = f"`{param}`: got {kind}; {model.name} gives {gives} of an input, as any of {offered}"
            raise InputError("invalid_request", message, param=param)
    return list(dict.fromkeys(types))


def is_packed(kind: EmbeddingType) -> bool:
    """Whether eight components share a byte."""
    return kind.endswith("binary")


def engine_kind(kind: EmbeddingType) -> str:
    """The engine's number format behind a type."""
    plain = kind.removeprefix(MULTI)
    return "float32" if plain in ("float", "base64") else plain


def written(row: Row, kind: EmbeddingType, dimensions: int) -> Late:
    """A row as a JSON value.

    Args:
        row: of one input, as the engine gave it; empty where the input failed.
        kind: how to write it.
        dimensions: components of a vector.
    """
    plain = kind.removeprefix(MULTI)
    if kind == plain:
        return _one(row, plain)
    if plain == "base64":
        return late_base64_rows(row)
    return late_rows(row, DTYPES.get(plain, "<f4"), dimensions // 8 if is_packed(kind) else dimensions)


def _one(row: Row, plain: str) -> Late:
    if plain == "base64":
        return late_base64(bytes, row)
    if plain == "float":
        return late_list(float_list, row, 4)
    return late_list(partial(integer_list, dtype=DTYPES[plain]), row, 1)
