"""The content parts of an item: text, images, features, videos, audio files and pages of PDFs.

The same objects have the same meaning in `messages`, in `inputs` of `/v1/embeddings` and in `inputs` of `/v2/embed`.
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Wire
from schemas.content.audio import AudioUrlPart, InputAudioPart
from schemas.content.examples import EXAMPLE_FEATURES, EXAMPLE_FEATURES_UUID, EXAMPLE_IMAGE, EXAMPLE_UUID
from schemas.content.file import FilePart
from schemas.content.video import VideoFramesPart, VideoUrlPart
from schemas.limits import MAX_GRID_NUMBERS, MAX_INT32, MAX_PARTS_PER_INPUT, MAX_UUID_CHARS

UUID_PATTERN = r"\A[A-Za-z0-9._:-]+\Z"
"""The alphabet of names. `\\Z`, because Python's `$` would accept a newline at the end."""

Uuid = Annotated[str, Meta(pattern=UUID_PATTERN, min_length=1, max_length=MAX_UUID_CHARS)]
"""A client's own name for an image. The alphabet keeps it fit for logs and error messages."""

UUID_MEANING = (
    "Your own name for this image. It is bound to the content that it is first sent with, for your credentials only. "
    "Later requests may send the name without the content. A name that is unknown, or no longer known, is answered "
    "400 `cache_miss`; a name sent with other content is answered 409 `uuid_conflict`."
)


COLOR_PATTERN = r"\A#[0-9A-Fa-f]{6}\Z"
"""Colors as HTML writes them."""

ImageBackground = Annotated[
    Annotated[str, Meta(pattern=COLOR_PATTERN, min_length=7, max_length=7)] | None,
    Meta(
        description="The color under transparent pixels of all images of the request, as `#rrggbb`. Absent means "
        "the server's own (`--image-background`), by default that of the model's reference: for Qwen3-VL white under "
        "RGBA, and in palette and gray images the color that is stored in transparent pixels. A `uuid` without content "
        "means the image as it was first read, unless this field is set. Images without transparency and features are "
        "not affected.",
        examples=["#ffffff"],
    ),
]
"""A request's field; part of the key of every image that is read with it."""


class TextPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A piece of text."""

    text: Annotated[
        str,
        Meta(description="The text. The empty string is allowed.", examples=["a red bicycle against a wall"]),
    ]


class ImageUrl(Wire, frozen=True, kw_only=True):
    """The URL of an image, in OpenAI's shape."""

    url: Annotated[
        str,
        Meta(
            description="A data URI (`data:image/png;base64,...`) or the base64 text alone. The format is read from "
            "the bytes, never from the declared type. `http`, `https` and `file` URLs are refused unless the server "
            "is configured to read them from their host or directory.",
            examples=[EXAMPLE_IMAGE],
        ),
    ]
    detail: Annotated[
        str | None,
        Meta(description="Accepted for OpenAI's clients and ignored.", examples=["auto"]),
    ] = None


ImageSource = ImageUrl | str
"""An image's source: OpenAI's object, or its `url` alone."""


class _Image(Wire, frozen=True, kw_only=True):
    """The fields of both forms of an image part."""

    image_url: Annotated[
        ImageSource | None,
        Meta(
            description="The image: an object with `url`, or the URL itself as a string. Absent or null only beside "
            "a `uuid` that is known.",
            examples=[{"url": EXAMPLE_IMAGE}],
        ),
    ] = None
    uuid: Annotated[Uuid | None, Meta(description=UUID_MEANING, examples=[EXAMPLE_UUID])] = None


class ImageUrlPart(_Image, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """An image: its source, its `uuid`, or both."""


class LoneImageUrlPart(_Image, frozen=True, kw_only=True):
    """An image: its source, its `uuid`, or both."""

    # For places where no other kind is allowed: there msgspec would not require a tag.
    type: Literal["image_url"]

    @property
    def part(self) -> ImageUrlPart:
        """The same part as one of several kinds."""
        return ImageUrlPart(image_url=self.image_url, uuid=self.uuid)


GridNumber = Annotated[int, Meta(ge=1, le=MAX_INT32)]
"""A size in patches."""

GridThw = Annotated[
    list[GridNumber | Annotated[list[GridNumber], Meta(min_length=3, max_length=3)]],
    Meta(min_length=1, max_length=MAX_GRID_NUMBERS),
]
"""Sizes of images in patches: three numbers each (temporal, height, width), flat or one list each."""


class ImageEmbeds(Wire, frozen=True, kw_only=True):
    """Vision features of an image, or of several stacked on the first axis, as `/v1/image_embeds` gives them.

    Source: vLLM's `image_embeds` for Qwen3-VL (docs/notes/api-contract.md).
    """

    image_embeds: Annotated[
        str,
        Meta(
            description="Base64 of a safetensors file with one tensor, or of an npy file. Shape: sum of T·H·W / 4 over "
            "the grids × hidden size · (1 + deepstack layers), base features first; `/v1/models` lists the width. "
            "float32 or float16, in safetensors also bfloat16. `torch.save` files are refused: they can hold code.",
            examples=[EXAMPLE_FEATURES],
        ),
    ]
    image_grid_thw: Annotated[
        GridThw,
        Meta(
            description="Size of the image in patches of 16 pixels before merging: temporal (1), height, width. For "
            "several images in one tensor, their numbers in sequence. A list of lists of three is accepted too; this "
            "document lists only the flat form, since many client generators cannot send the union.",
            examples=[[1, 2, 2]],
        ),
    ]


class ImageEmbedsPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="image_embeds"):
    """An image as precomputed vision features: the vision tower does not run for it."""

    image_embeds: Annotated[
        ImageEmbeds | None,
        Meta(
            description="The features. Absent or null only beside a `uuid` that is known.",
            examples=[{"image_embeds": EXAMPLE_FEATURES, "image_grid_thw": [1, 2, 2]}],
        ),
    ] = None
    uuid: Annotated[Uuid | None, Meta(description=UUID_MEANING, examples=[EXAMPLE_FEATURES_UUID])] = None


ContentPart = (
    TextPart
    | ImageUrlPart
    | ImageEmbedsPart
    | VideoFramesPart
    | VideoUrlPart
    | InputAudioPart
    | AudioUrlPart
    | FilePart
)
"""One part; `type` says which."""

ContentParts = Annotated[list[ContentPart], Meta(min_length=1, max_length=MAX_PARTS_PER_INPUT)]
"""The parts of one item."""

PARTS_ORDER = (
    "They may come in any order. The model reads them in that of its reference, which is videos, then images, then all "
    "texts, joined with nothing between, unless `part_order` says `as_written`."
)


ContentField = Annotated[
    str | ContentParts,
    Meta(
        description=f"The parts. {PARTS_ORDER} A bare string is accepted too and means one text part; this document "
        "lists only the array, since many client generators cannot send a union that holds arrays.",
        examples=[[{"type": "text", "text": "a red bicycle"}]],
    ),
]


class Content(Wire, frozen=True, kw_only=True):
    """One item of `inputs`: all its parts together give one vector."""

    content: ContentField
