"""`POST /pooling`: vLLM's route for vectors of inputs or of their tokens.

Source: vLLM 0.33.0, `entrypoints/pooling/pooling/protocol.py`; next-plaid's bundle for Langflow sends `token_embed`.
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Answer
from schemas.dialects.vllm import VllmEmbeddingRequest
from schemas.endpoints.embeddings import Embedding
from schemas.fields import CreatedField, IndexField, ListField, ServedModelField
from schemas.usage import Usage

PoolingTask = Literal["embed", "token_embed"]
"""Vectors of an input: one, or one for each of its tokens."""


class PoolingRequest(VllmEmbeddingRequest, frozen=True, kw_only=True):
    """A body of vLLM's `/v1/embeddings`, and what is wanted of each input."""

    task: Annotated[
        PoolingTask | None,
        Meta(
            description="`embed`: one vector of each input; `token_embed`: one for each of its tokens. Each for models "
            "whose `outputs` of `/v1/models` have it (`dense`, `multi_vector`). Absent means what the model has.",
            examples=["embed"],
        ),
    ] = None


class PoolingData(Answer, frozen=True, kw_only=True):
    """The vectors of one input."""

    object: Annotated[Literal["pooling"], Meta(description="Always `pooling`.", examples=["pooling"])] = "pooling"
    index: IndexField
    data: Annotated[
        Embedding,
        Meta(
            description="With `embed` a vector, with `token_embed` a list of vectors; with `encoding_format: base64` "
            "the base64 of their components, row by row. This document lists the vector.",
            examples=[[0.5, -0.5, 0.5, 0.5]],
        ),
    ]


class PoolingResponse(Answer, frozen=True, kw_only=True):
    """The vectors, in the order of the request."""

    id: Annotated[str, Meta(description="`pool-` and the request id.", examples=["pool-0f9c2a7d41b84e6f"])]
    object: ListField = "list"
    created: CreatedField
    model: ServedModelField
    data: Annotated[list[PoolingData], Meta(description="One entry for each item of the request, in order.")]
    usage: Annotated[Usage, Meta(description="The cost of the request.")]
