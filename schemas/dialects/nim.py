"""NIM's and infinity's `modality` beside `input`: data URIs and URLs that are read as what it says.

Source: NVIDIA NeMo Retriever Embedding NIM 2.2, `modality`; infinity 0.0.77, `modality`.
"""

import re
from typing import Annotated

from msgspec import Meta

from schemas.base import Wire
from schemas.content.audio import AudioUrlPart
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.parts import Content, ContentPart, ImageUrlPart, TextPart
from schemas.content.video import VideoUrlPart
from schemas.dialects.dialect import Dialect, OtherEmbeddingRequest, as_own, refuse
from schemas.endpoints.tei import TeiInputs
from schemas.fields import TruncateField

MODALITIES = ("text", "image", "image_text", "text_image", "video", "audio")
_URI = re.compile(r"data:image/\S+", re.IGNORECASE)


class NimEmbeddingRequest(OtherEmbeddingRequest, frozen=True, kw_only=True):
    """`/v1/embeddings` with `modality`."""

    input: Annotated[  # pyright: ignore[reportGeneralTypeIssues]  # required here
        TeiInputs,
        Meta(description="Texts, data URIs or URLs, as `modality` says; one vector each.", examples=[[EXAMPLE_IMAGE]]),
    ]
    modality: Annotated[
        TeiInputs,
        Meta(
            description="What the strings are, one for all of them or one for each: `text`, `image`, `video`, `audio`, "
            "or `image_text` for a text with an image's data URI in it.",
            examples=[["image"]],
        ),
    ]
    truncate: TruncateField = None


def read(body: NimEmbeddingRequest, own: type[Wire]) -> Wire:
    """The strings as `inputs` of what they are.

    Raises:
        RuleError: a modality is none, or there are not as many as strings.
    """
    given = [body.input] if isinstance(body.input, str) else body.input
    said = [body.modality] if isinstance(body.modality, str) else body.modality
    if len(said) not in (1, len(given)):
        refuse("modality", f"expected 1 or {len(given)}, as many as `input`, got {len(said)}")
    if any(one not in MODALITIES for one in said):
        refuse("modality", f"expected of {', '.join(MODALITIES)}, got another")
    each = said * len(given) if len(said) == 1 else said
    inputs = [Content(content=_parts(*pair, index)) for index, pair in enumerate(zip(given, each, strict=True))]
    return as_own(body, own, input=None, inputs=inputs)


def _parts(text: str, modality: str, index: int) -> list[ContentPart]:
    if modality == "text":
        return [TextPart(text=text)]
    if modality == "image":
        return [ImageUrlPart(image_url=text)]
    if modality == "video":
        return [VideoUrlPart(video_url=text)]
    if modality == "audio":
        return [AudioUrlPart(audio_url=text)]
    found = _URI.search(text)
    if found is None:
        refuse(f"input[{index}]", f"expected a text with an image's data URI, as `modality: {modality}` says, got none")
    rest = (text[: found.start()] + text[found.end() :]).strip()
    return [ImageUrlPart(image_url=found[0]), TextPart(text=rest)]


DIALECT = Dialect(
    name="NIM and infinity",
    about="`modality` beside `input`.",
    body=NimEmbeddingRequest,
    tells=lambda shape: "modality" in shape.fields,
    read=read,
    example={"model": "builtin", "input": [EXAMPLE_IMAGE], "modality": ["image"]},
)
