"""SGLang's `input`: objects with `text`, `image` and `video`, each of which gives one vector.

Source: SGLang 0.5.23, `MultimodalEmbeddingInput`; Ollama's community models send the same.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, as_own
from schemas.dialects.items import MediaInput, sources_of
from schemas.fields import TruncateField


class SglangEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with SGLang's `input`."""

    input: Annotated[
        MediaInput | None,
        Meta(
            description="Items, each an object with `text`, `image`, `video` or several of them; strings may stand "
            "among them.",
            examples=[[{"text": "a red bicycle", "image": EXAMPLE_IMAGE}]],
        ),
    ] = None
    truncate: TruncateField = None


def read(body: SglangEmbeddingRequest, own: type[Wire]) -> Wire:
    """The same items as `inputs`."""
    return as_own(body, own, **sources_of(body.input))


DIALECT = Dialect(
    name="SGLang",
    about="Items with `text`, `image` and `video` in `input`.",
    body=SglangEmbeddingRequest,
    tells=lambda shape: bool(shape.entries & {"text", "image", "video", "audio"}),
    read=read,
    example={
        "model": "builtin",
        "input": [{"text": "a red bicycle", "image": EXAMPLE_IMAGE}, {"image": EXAMPLE_IMAGE}, {"text": "a door"}],
    },
)
