"""`POST /v1/image_embeds`: pictures in, their vision features out, in the form in which they can be posted back.

Shapes and single-field bounds only. No other server offers this route; its answer is vLLM's `image_embeds` part.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content import ImageBackground, ImageEmbedsPart, LoneImageUrlPart
from schemas.embeddings import EmbedDtype, OnError
from schemas.errors import ErrorBody
from schemas.example_image import EXAMPLE_IMAGE
from schemas.limits import MAX_IMAGES

FeaturesFormat = Literal["safetensors", "npy"]
"""File format of features."""


class ImageEmbedsRequest(Wire, frozen=True, kw_only=True):
    """Pictures whose features to compute."""

    model: Annotated[
        str | None,
        Meta(
            description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
            examples=["builtin"],
        ),
    ] = None
    images: Annotated[
        Annotated[list[LoneImageUrlPart], Meta(min_length=1, max_length=MAX_IMAGES)],
        Meta(
            description="The pictures, each an `image_url` part as in `inputs`, with or without a `uuid`.",
            examples=[[{"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}}]],
        ),
    ]
    features_format: Annotated[
        FeaturesFormat | None,
        Meta(description="File format of the features. Absent means `safetensors`.", examples=["npy"]),
    ] = None
    embed_dtype: Annotated[
        EmbedDtype | None,
        Meta(
            description="Number format of the features; `npy` has no `bfloat16`. Absent means what the model computes "
            "in, or `float32` for `npy` when that is `bfloat16`.",
            examples=["float32"],
        ),
    ] = None
    on_error: Annotated[
        OnError | None,
        Meta(
            description="`fail`: one bad picture fails the request, and the error names its index. `per_item`: good "
            "pictures are answered, and a bad one has an `error` and no `part`. Absent means `fail`.",
            examples=["per_item"],
        ),
    ] = None
    image_background: ImageBackground = None


class ImageEmbedsData(Answer, frozen=True, kw_only=True):
    """One picture's features, ready to be posted back."""

    object: Annotated[
        Literal["image_features"], Meta(description="Always `image_features`.", examples=["image_features"])
    ] = "image_features"
    index: Annotated[
        Count,
        Meta(description="Which picture of the request this is, counted from 0; entries are in order.", examples=[0]),
    ]
    part: Annotated[
        ImageEmbedsPart | UnsetType,
        Meta(
            description="The content part to put into `messages` or `inputs`, as it stands. Its `uuid` alone, with "
            "null features, will do as long as the server knows it. Absent only beside `error`."
        ),
    ] = UNSET
    content_hash: Annotated[
        str | UnsetType,
        Meta(
            description="SHA-256 in hex of the picture as this model sees it: equal for equal pixels, whatever file "
            "they came in. Absent only beside `error`.",
            examples=["9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de"],
        ),
    ] = UNSET
    shape: Annotated[
        list[Count] | UnsetType,
        Meta(description="Shape of the tensor: visual tokens, width. Absent only beside `error`.", examples=[[4, 512]]),
    ] = UNSET
    dtype: Annotated[
        EmbedDtype | UnsetType, Meta(description="Its number format. Absent only beside `error`.", examples=["float32"])
    ] = UNSET
    error: Annotated[
        ErrorBody | UnsetType,
        Meta(description="Why this picture has no features; only with `on_error: per_item`."),
    ] = UNSET


class ImageEmbedsUsage(Answer, frozen=True, kw_only=True):
    """What the request cost, summed over its pictures."""

    num_images: Annotated[Count, Meta(description="Pictures of the request.", examples=[1])]
    image_tokens: Annotated[Count, Meta(description="Visual tokens: rows of all tensors.", examples=[4])]
    encoder_cache_hits: Annotated[
        Count, Meta(description="Pictures whose features were in the encoder cache.", examples=[0])
    ]
    encoder_cache_misses: Annotated[
        Count, Meta(description="Pictures that the vision tower had to encode.", examples=[1])
    ]


class ImageEmbedsResponse(Answer, frozen=True, kw_only=True):
    """The features, in the order of the request."""

    id: Annotated[str, Meta(description="`imgemb-` and the request id.", examples=["imgemb-0f9c2a7d41b84e6f"])]
    object: Annotated[Literal["list"], Meta(description="Always `list`.", examples=["list"])] = "list"
    created: Annotated[
        int,
        Meta(
            description="When the answer was made, in seconds since 1970.",
            extra_json_schema={"format": "int64"},
            examples=[1790000000],
        ),
    ]
    model: Annotated[str, Meta(description="The model's name as the request gave it.", examples=["builtin"])]
    data: Annotated[list[ImageEmbedsData], Meta(description="One entry for each picture of the request, in order.")]
    usage: Annotated[ImageEmbedsUsage, Meta(description="What the request cost.")]
