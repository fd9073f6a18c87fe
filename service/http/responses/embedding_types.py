"""Which of `embedding_types` a model has: the kind of vector that each stands for, and the error for one it has not."""

from collections.abc import Mapping, Sequence
from typing import get_args

from schemas.endpoints.embed_vectors import EmbeddingType
from service.errors import InputError
from service.front.served_model import ServedModel
from service.ipc.sparse_row import SPARSE
from service.prompt.profile.profile import OutputKind

MULTI = "multi_"
SPARSE_TOKENS: EmbeddingType = "sparse_tokens"
"""A sparse vector whose keys are the vocabulary's entries and not their ids."""
DEFAULTS: Mapping[OutputKind, EmbeddingType] = {"dense": "float", "sparse": "sparse", "multi": "multi_float"}
WORDS: Mapping[OutputKind, str] = {
    "dense": "one vector",
    "sparse": "a sparse vector",
    "multi": "a vector for each token",
}


def output_kind(kind: EmbeddingType) -> OutputKind:
    """The kind of vector that a type is of."""
    if kind in (SPARSE, SPARSE_TOKENS):
        return "sparse"
    return "multi" if kind.startswith(MULTI) else "dense"


def embedding_types(asked: Sequence[EmbeddingType] | None, model: ServedModel) -> list[EmbeddingType]:
    """The types to answer in, each once; without any, the default of the model's own kind.

    Raises:
        InputError: the model has no vectors of a kind that was asked for.
    """
    types: list[EmbeddingType] = list(asked or [DEFAULTS[model.outputs[0]]])
    for index, kind in enumerate(types):
        if output_kind(kind) not in model.outputs:
            offered = ", ".join(one for one in get_args(EmbeddingType) if output_kind(one) in model.outputs)
            param, gives = f"embedding_types[{index}]", " and ".join(WORDS[one] for one in model.outputs)
            message = f"`{param}`: got {kind}; {model.name} gives {gives} of an input, as any of {offered}"
            raise InputError("invalid_request", message, param=param)
    return list(dict.fromkeys(types))
