"""A query or a document to score, as a text or an object, so that every server's clients find their form."""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE, EXAMPLE_VIDEO
from schemas.content.parts import PARTS_ORDER, ContentParts
from schemas.limits import MAX_INPUTS


class RerankItem(Wire, frozen=True, kw_only=True):
    """A query or a document: `content` holds it, or `text`, `image` and `video`, one of them or several together.

    Source: Cohere's and Jina's `text`, Jina's `image`, SGLang's and DashScope's `video`, OpenRouter's several, vLLM's
    `content` (docs/notes/api-contract.md).
    """

    text: Annotated[str | None, Meta(description="A text.", examples=["a red bicycle against a wall"])] = None
    image: Annotated[
        str | None,
        Meta(description="An image: a data URI, or a URL where the server fetches them.", examples=[EXAMPLE_IMAGE]),
    ] = None
    video: Annotated[
        str | None,
        Meta(description="A video: a data URI, or a URL where the server fetches them.", examples=[EXAMPLE_VIDEO]),
    ] = None
    content: Annotated[
        str | ContentParts | None,
        Meta(
            description="Text, images, videos and features together, as in `inputs` of `/v1/embeddings`. "
            f"{PARTS_ORDER} A bare string is accepted too and means one text part; this document lists only the array, "
            "since many client generators cannot send a union that holds arrays.",
            examples=[[{"type": "text", "text": "a red bicycle"}]],
        ),
    ] = None


RerankInput = str | RerankItem
"""A query or a document: a text, or an object."""

RerankInputs = Annotated[list[RerankInput], Meta(min_length=1, max_length=MAX_INPUTS)]
"""Queries or documents."""

ScoreInput = RerankInput | RerankInputs
"""One side of `/score`: a query or a document, or several."""
