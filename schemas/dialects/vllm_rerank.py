"""vLLM's `documents` as one object: each part of its `content` is a document.

Source: vLLM 0.33.0, `ScoreMultiModalParam`; gpustack sends it for images.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.parts import ContentPart
from schemas.content.scored import RerankItem
from schemas.dialects.dialect import Dialect, OtherRerankRequest, as_own
from schemas.endpoints.rerank import AnyRerankRequest, RerankRequest
from schemas.endpoints.rerank_v2 import CohereRerankRequest
from schemas.limits import MAX_INPUTS

_EXAMPLE = {"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}}


class VllmDocuments(Wire, frozen=True, kw_only=True):
    """Documents of one part each."""

    content: Annotated[
        Annotated[list[ContentPart], Meta(min_length=1, max_length=MAX_INPUTS)],
        Meta(description="The parts, each a document of its own.", examples=[[_EXAMPLE]]),
    ]


class VllmRerankRequest(OtherRerankRequest, frozen=True, kw_only=True):
    """`/v1/rerank`, `/v2/rerank` and `/rerank` with `documents` as one object."""

    documents: Annotated[
        VllmDocuments,
        Meta(description="An object whose `content` has a part for each document.", examples=[{"content": [_EXAMPLE]}]),
    ]


def read(body: VllmRerankRequest, own: type[Wire]) -> Wire:
    """The same documents as a list."""
    return as_own(body, own, documents=[RerankItem(content=[part]) for part in body.documents.content])


DIALECT = Dialect(
    name="vLLM",
    about="`documents` as one object, whose `content` has a part for each document.",
    body=VllmRerankRequest,
    routes=(RerankRequest, CohereRerankRequest, AnyRerankRequest),
    tells=lambda shape: shape.is_one and "documents" in shape.fields,
    read=read,
    example={
        "model": "builtin",
        "query": "a red bicycle",
        "documents": {"content": [_EXAMPLE, {"type": "text", "text": "a green door"}]},
    },
)
