"""Elastic's `input`: objects with `content`, whose items have `type`, `format` and `value`.

Source: Elasticsearch 9.5, `POST /_inference/embedding`.
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Wire
from schemas.content.audio import AudioUrlPart
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.file import FilePart, PdfFile
from schemas.content.parts import Content, ContentPart, ImageUrlPart, TextPart
from schemas.content.video import VideoUrlPart
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, as_own, refuse
from schemas.fields import TruncateField
from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT

ElasticType = Literal["text", "image", "video", "audio", "pdf"]
"""Kind of a value."""

ElasticFormat = Literal["text", "base64", "url"]
"""How a value is written."""


class ElasticValue(Wire, frozen=True, kw_only=True):
    """A text or a medium."""

    type: Annotated[ElasticType, Meta(description="Kind of the value.", examples=["image"])]
    format: Annotated[
        ElasticFormat | None,
        Meta(description="`text` for a text, `base64` for a data URI, `url` for a URL.", examples=["base64"]),
    ] = None
    value: Annotated[str, Meta(description="The text, the data URI or the URL.", examples=[EXAMPLE_IMAGE])]


ElasticContent = ElasticValue | Annotated[list[ElasticValue], Meta(min_length=1, max_length=MAX_PARTS_PER_INPUT)]
"""What an item holds: one value or several, which give one vector."""


class ElasticItem(Wire, frozen=True, kw_only=True):
    """One item."""

    content: Annotated[
        ElasticContent,
        Meta(description="Its values.", examples=[[{"type": "text", "format": "text", "value": "a red bicycle"}]]),
    ]


ElasticInput = ElasticItem | Annotated[list[str | ElasticItem], Meta(min_length=1, max_length=MAX_INPUTS)]
"""Items, one vector each."""

_EXAMPLE = {"content": [{"type": "image", "format": "base64", "value": EXAMPLE_IMAGE}]}


class ElasticEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with Elastic's `input`."""

    input: Annotated[  # pyright: ignore[reportGeneralTypeIssues]  # required here
        ElasticInput,
        Meta(
            description="Items with `content`; strings may stand among them. One value may stand without a list, and "
            "one item too.",
            examples=[[_EXAMPLE]],
        ),
    ]
    truncate: TruncateField = None


def read(body: ElasticEmbeddingRequest, own: type[Wire]) -> Wire:
    """The same items as `inputs`.

    Raises:
        RuleError: a text is not written as one, or a medium is.
    """
    given = [body.input] if isinstance(body.input, ElasticItem) else body.input
    inputs = []
    for index, one in enumerate(given):
        if isinstance(one, str):
            inputs.append(Content(content=one))
            continue
        values = one.content if isinstance(one.content, list) else [one.content]
        inputs.append(Content(content=[_part(value, f"input[{index}].content") for value in values]))
    return as_own(body, own, input=None, inputs=inputs)


def _part(value: ElasticValue, param: str) -> ContentPart:
    is_text = value.type == "text"
    if value.format is not None and is_text != (value.format == "text"):
        refuse(f"{param}.format", f"expected {'text' if is_text else 'base64 or url'} beside that type, got another")
    if is_text:
        return TextPart(text=value.value)
    if value.type == "image":
        return ImageUrlPart(image_url=value.value)
    if value.type == "video":
        return VideoUrlPart(video_url=value.value)
    return (
        AudioUrlPart(audio_url=value.value) if value.type == "audio" else FilePart(file=PdfFile(file_data=value.value))
    )


DIALECT = Dialect(
    name="Elastic",
    about="Items with `content` of `type`, `format` and `value` in `input`.",
    body=ElasticEmbeddingRequest,
    tells=lambda shape: "input" in shape.fields and "content" in shape.entries and "role" not in shape.entries,
    read=read,
    example={
        "model": "builtin",
        "input": [{"content": [{"type": "text", "format": "text", "value": "a red bicycle"}]}, _EXAMPLE],
    },
)
