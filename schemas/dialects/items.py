"""Items whose media stand under names of their own: `{"text": ..., "image": ..., "video": ..., "audio": ...}`."""

from typing import Annotated, Any

from msgspec import Meta

from schemas.base import Wire
from schemas.content.audio import AudioUrlPart
from schemas.content.examples import EXAMPLE_AUDIO, EXAMPLE_IMAGE, EXAMPLE_VIDEO
from schemas.content.parts import Content, ContentPart, ImageUrlPart, TextPart
from schemas.content.video import VideoUrlPart
from schemas.dialects.dialect import refuse
from schemas.limits import MAX_INPUTS


class MediaItem(Wire, frozen=True, kw_only=True):
    """One item: what it has of these gives one vector together."""

    text: Annotated[str | None, Meta(description="A text.", examples=["a red bicycle"])] = None
    image: Annotated[
        str | None,
        Meta(
            description="An image: a data URI, bare base64, or a URL where the server fetches them.",
            examples=[EXAMPLE_IMAGE],
        ),
    ] = None
    video: Annotated[str | None, Meta(description="A video, in the same three forms.", examples=[EXAMPLE_VIDEO])] = None
    audio: Annotated[
        str | None, Meta(description="An audio file, in the same three forms.", examples=[EXAMPLE_AUDIO])
    ] = None


MediaInput = str | Annotated[list[str | MediaItem], Meta(min_length=1, max_length=MAX_INPUTS)]
"""A text, or items of texts and media, one vector each."""


def media_parts(item: Any) -> list[ContentPart]:
    """The parts of an item that has the fields of `MediaItem`, or some of them, in the order of the reference."""
    parts: list[ContentPart] = []
    if (video := getattr(item, "video", None)) is not None:
        parts.append(VideoUrlPart(video_url=video))
    if item.image is not None:
        parts.append(ImageUrlPart(image_url=item.image))
    if (audio := getattr(item, "audio", None)) is not None:
        parts.append(AudioUrlPart(audio_url=audio))
    if item.text is not None:
        parts.append(TextPart(text=item.text))
    return parts


def sources_of(given: Any) -> dict[str, Any]:
    """`input` where all of it is text, else `inputs`, as our own request has them.

    Raises:
        RuleError: an item is empty.
    """
    if given is None or isinstance(given, str) or all(isinstance(one, str) for one in given):
        return {"input": given}
    inputs = []
    for index, one in enumerate(given):
        parts: list[ContentPart] = [TextPart(text=one)] if isinstance(one, str) else media_parts(one)
        if not parts:
            refuse(f"input[{index}]", "expected `text`, `image`, `video` or `audio`, got none of them", "missing_input")
        inputs.append(Content(content=parts))
    return {"input": None, "inputs": inputs}
