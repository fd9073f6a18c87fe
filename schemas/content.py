"""What an item is made of: text, pictures, precomputed features, videos and sounds, in reading order.

The same objects have the same meaning in `messages`, in `inputs` of `/v1/embeddings` and in `inputs` of `/v2/embed`.
Knows the shape only: whether an image URL may be fetched, whether its bytes are a picture, and what a `uuid` is
bound to, is for the service.
"""

import base64
from typing import Annotated, Literal

from msgspec import Meta

from schemas.audio import AudioUrlPart, InputAudioPart
from schemas.base import Wire
from schemas.example_image import EXAMPLE_IMAGE
from schemas.limits import MAX_GRID_NUMBERS, MAX_INT32, MAX_PARTS_PER_INPUT, MAX_UUID_CHARS
from schemas.video import VideoFramesPart, VideoUrlPart

_FEATURES_HEADER = b'{"image_embeds":{"dtype":"F16","shape":[1,768],"data_offsets":[0,1536]}}'

EXAMPLE_FEATURES = base64.b64encode(
    len(_FEATURES_HEADER).to_bytes(8, "little") + _FEATURES_HEADER + bytes(2 * 768)
).decode()
"""Features of one visual token for the built-in model, all zeros, as a safetensors file: for the examples, too."""

EXAMPLE_UUID = "sku-1234-front"
"""A name that a client may give to a picture, for the examples of the document."""

EXAMPLE_FEATURES_UUID = "sku-1234-features"
"""Another, for the features: one name cannot stand for both examples."""

UUID_PATTERN = r"\A[A-Za-z0-9._:-]+\Z"
"""The alphabet of names. Python's `$` would let a newline pass at the end."""

Uuid = Annotated[str, Meta(pattern=UUID_PATTERN, min_length=1, max_length=MAX_UUID_CHARS)]
"""A client's own name for a picture. The alphabet keeps it fit for logs and error messages."""

UUID_MEANING = (
    "Your own name for this picture. It is bound to the content that it is first sent with, and known to your "
    "credentials alone. Later the same name without the content stands for it: a name that is not known (any more) is "
    "answered 400 `cache_miss`, one with other content 409 `uuid_conflict`."
)


COLOR_PATTERN = r"\A#[0-9A-Fa-f]{6}\Z"
"""Colors as HTML writes them."""

ImageBackground = Annotated[
    Annotated[str, Meta(pattern=COLOR_PATTERN, min_length=7, max_length=7)] | None,
    Meta(
        description="The color under transparent pixels of all pictures of the request, as `#rrggbb`. Absent means "
        "what the server was started with (`--image-background`), which is by default what the model's reference does: "
        "for Qwen3-VL white under RGBA, and in palette and gray pictures the color that is stored in transparent "
        "pixels. A `uuid` without content stands for the picture as it was first read, unless this field is there. "
        "Nothing changes for "
        "pictures without transparency and for features.",
        examples=["#ffffff"],
    ),
]
"""A request's field; part of the key of every picture that is read with it."""


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
"""A picture's source: OpenAI's object, or its `url` alone."""


class _Image(Wire, frozen=True, kw_only=True):
    """What both forms of a picture's part hold."""

    image_url: Annotated[
        ImageSource | None,
        Meta(
            description="The picture: an object with `url`, or the URL itself as a string. Absent or null only beside "
            "a `uuid` that is known.",
            examples=[{"url": EXAMPLE_IMAGE}],
        ),
    ] = None
    uuid: Annotated[Uuid | None, Meta(description=UUID_MEANING, examples=[EXAMPLE_UUID])] = None


class ImageUrlPart(_Image, frozen=True, kw_only=True, tag_field="type", tag="image_url"):
    """A picture: its source, its `uuid`, or both."""


class LoneImageUrlPart(_Image, frozen=True, kw_only=True):
    """A picture: its source, its `uuid`, or both."""

    # The same part where no other kind may stand: msgspec asks for a tag only when there is a choice, this asks always.
    type: Literal["image_url"]

    @property
    def part(self) -> ImageUrlPart:
        """The same among other kinds."""
        return ImageUrlPart(image_url=self.image_url, uuid=self.uuid)


GridNumber = Annotated[int, Meta(ge=1, le=MAX_INT32)]
"""A size in patches."""

GridThw = Annotated[
    list[GridNumber | Annotated[list[GridNumber], Meta(min_length=3, max_length=3)]],
    Meta(min_length=1, max_length=MAX_GRID_NUMBERS),
]
"""Sizes of pictures in patches: three numbers each (temporal, height, width), flat or one list each."""


class ImageEmbeds(Wire, frozen=True, kw_only=True):
    """Vision features of a picture, or of several stacked on the first axis, as `/v1/image_embeds` gives them.

    Source: vLLM's `image_embeds` for Qwen3-VL (shared/reference/api-contract.md, 1.9).
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
            description="Size of the picture in patches of 16 pixels before merging: temporal (1), height, width. For "
            "several pictures in one tensor their numbers one after another. Lists of three inside the list are "
            "accepted too; this document lists only the flat form, since many client generators cannot send the union.",
            examples=[[1, 2, 2]],
        ),
    ]


class ImageEmbedsPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="image_embeds"):
    """A picture whose vision features were computed before: the vision tower does not run for it."""

    image_embeds: Annotated[
        ImageEmbeds | None,
        Meta(
            description="The features. Absent or null only beside a `uuid` that is known.",
            examples=[{"image_embeds": EXAMPLE_FEATURES, "image_grid_thw": [1, 2, 2]}],
        ),
    ] = None
    uuid: Annotated[Uuid | None, Meta(description=UUID_MEANING, examples=[EXAMPLE_FEATURES_UUID])] = None


ContentPart = TextPart | ImageUrlPart | ImageEmbedsPart | VideoFramesPart | VideoUrlPart | InputAudioPart | AudioUrlPart
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
