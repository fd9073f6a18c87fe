"""DeepInfra's `input`: texts, and lists of content parts among them.

Source: DeepInfra's reference of multimodal embeddings.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.parts import Content, ContentParts
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, as_own
from schemas.fields import TruncateField
from schemas.limits import MAX_INPUTS

TextOrParts = str | ContentParts
"""An item: a text, or its parts."""

_EXAMPLE = [[{"type": "text", "text": "a green door"}], [{"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}}]]


class DeepInfraEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with lists of content parts in `input`."""

    input: Annotated[  # pyright: ignore[reportGeneralTypeIssues]  # required here
        Annotated[list[TextOrParts], Meta(min_length=1, max_length=MAX_INPUTS)],
        Meta(
            description="Items, each a list of content parts, one vector each. Strings may stand among them; this "
            "document lists only the arrays, since many client generators cannot send a union that holds arrays.",
            examples=[_EXAMPLE],
        ),
    ]
    truncate: TruncateField = None


def read(body: DeepInfraEmbeddingRequest, own: type[Wire]) -> Wire:
    """The same items as `inputs`."""
    return as_own(body, own, input=None, inputs=[Content(content=one) for one in body.input])


DIALECT = Dialect(
    name="DeepInfra",
    about="Lists of content parts in `input`.",
    body=DeepInfraEmbeddingRequest,
    tells=lambda shape: "[].type" in shape.entries and "[].role" not in shape.entries,
    read=read,
    example={"model": "builtin", "input": _EXAMPLE},
)
