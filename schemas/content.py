"""What an item is made of: text and pictures, in reading order.

The same objects have the same meaning in `messages`, in `inputs` of `/v1/embeddings` and in `inputs` of `/v2/embed`.
Knows the shape only: whether an image URL may be fetched, and whether its bytes are a picture, is for `service.media`.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.limits import MAX_PARTS_PER_INPUT

EXAMPLE_IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAALElEQVR42u3NQQEAQAQAMC6NCvp3kO"
    "dK8NsKLKc6Lr04JhAIBAKBQCAQCLZ8Sh8BdxedIcAAAAAASUVORK5CYII="
)
"""A red square of 32 × 32 pixels, for the examples of the document: small, and a real PNG."""


class TextPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A piece of text."""

    text: Annotated[
        str,
        Meta(description="The text. The empty string is allowed.", examples=["a red bicycle against a wall"]),
    ]


class ImageUrl(Wire, frozen=True, kw_only=True):
    """Where a picture comes from, in OpenAI's shape."""

    url: Annotated[
        str,
        Meta(
            description="A data URI (`data:image/png;base64,...`) or the base64 text alone. The format is read from "
            "the bytes, never from the declared type. `http` and `https` URLs are refused until fetching is "
            "configured.",
            examples=[EXAMPLE_IMAGE],
        ),
    ]
    detail: Annotated[
        str | None,
        Meta(description="Accepted for OpenAI's clients and ignored.", examples=["auto"]),
    ] = None


ImageSource = ImageUrl | str
"""A picture's source: OpenAI's object, or its `url` alone."""


class ImageUrlPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """A picture."""

    image_url: Annotated[
        ImageSource,
        Meta(
            description="The picture: an object with `url`, or the URL itself as a string.",
            examples=[{"url": EXAMPLE_IMAGE}],
        ),
    ]


ContentPart = TextPart | ImageUrlPart
"""One part; `type` says which."""

ContentParts = Annotated[list[ContentPart], Meta(min_length=1, max_length=MAX_PARTS_PER_INPUT)]
"""The parts of one item, in reading order."""


class Content(Wire, frozen=True, kw_only=True):
    """One item of `inputs`: all its parts together give one vector."""

    content: Annotated[
        str | ContentParts,
        Meta(
            description="The parts of the item. A bare string is accepted too and means one text part; this document "
            "lists only the array, since many client generators cannot send a union that holds arrays.",
            examples=[[{"type": "text", "text": "a red bicycle"}]],
        ),
    ]
