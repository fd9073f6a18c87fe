"""OpenRouter's and llama.cpp's `input`: objects with `content`, the parts of one item.

Source: OpenRouter's reference of embeddings; llama.cpp b11240, `tools/server`.
"""

from typing import Annotated, Any

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.parts import Content
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, as_own
from schemas.fields import TruncateField
from schemas.limits import MAX_INPUTS

ContentInput = Content | Annotated[list[str | Content], Meta(min_length=1, max_length=MAX_INPUTS)]
"""Items of parts, one vector each."""

_EXAMPLE: Any = {
    "content": [
        {"type": "text", "text": "a red bicycle"},
        {"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}},
    ]
}


class OpenRouterEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with items of content parts in `input`."""

    input: Annotated[  # pyright: ignore[reportGeneralTypeIssues]  # required here
        ContentInput,
        Meta(
            description="Items with `content`, as `inputs` has them; strings may stand among them. One item may stand "
            "without a list.",
            examples=[[_EXAMPLE]],
        ),
    ]
    truncate: TruncateField = None


def read(body: OpenRouterEmbeddingRequest, own: type[Wire]) -> Wire:
    """The same items as `inputs`."""
    given = [body.input] if isinstance(body.input, Content) else body.input
    inputs = [Content(content=one) if isinstance(one, str) else one for one in given]
    return as_own(body, own, input=None, inputs=inputs)


DIALECT = Dialect(
    name="OpenRouter and llama.cpp",
    about="Items with `content` in `input`.",
    body=OpenRouterEmbeddingRequest,
    tells=lambda shape: "input" in shape.fields and "content" in shape.entries and "role" not in shape.entries,
    read=read,
    example={"model": "builtin", "input": [_EXAMPLE, {"content": [{"type": "text", "text": "a green door"}]}]},
)
