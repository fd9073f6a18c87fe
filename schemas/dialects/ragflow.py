"""RAGFlow's `drop_params`, which it sends with every request in OpenAI's form, for LiteLLM's proxies.

Source: RAGFlow 0.21, `rag/llm/embedding_model.py`.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.dialects.dialect import Dialect, as_own
from schemas.endpoints.embeddings import EmbeddingRequest


class RagflowEmbeddingRequest(EmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with `drop_params`."""

    drop_params: Annotated[
        bool,
        Meta(
            description="Accepted and ignored: it tells LiteLLM's proxy to leave out what a model does not take. Here "
            "that stays an error.",
            examples=[True],
        ),
    ]


def read(body: RagflowEmbeddingRequest, own: type[Wire]) -> Wire:
    """The request without it."""
    return as_own(body, own)


DIALECT = Dialect(
    name="RAGFlow",
    about="`drop_params`, which is ignored.",
    body=RagflowEmbeddingRequest,
    tells=lambda shape: "drop_params" in shape.fields,
    read=read,
    example={"model": "builtin", "input": ["a red bicycle"], "encoding_format": "float", "drop_params": True},
)
