"""`POST /v1/image_embeds`: the vision features of images, as content parts that can be sent back.

The content part is vLLM's `image_embeds`.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.parts import ImageBackground, ImageEmbedsPart, LoneImageUrlPart
from schemas.fields import (
    CreatedField,
    EmbedDtype,
    IndexField,
    ItemErrorField,
    ListField,
    ModelField,
    OnError,
    ServedModelField,
)
from schemas.limits import MAX_IMAGES

FeaturesFormat = Literal["safetensors", "npy"]
"""File format of features."""


class ImageEmbedsRequest(Wire, frozen=True, kw_only=True):
    """Images whose features to compute."""

    model: ModelField = None
    images: Annotated[
        Annotated[list[LoneImageUrlPart], Meta(min_length=1, max_length=MAX_IMAGES)],
        Meta(
            description="The images, each an `image_url` part as in `inputs`, with or without a `uuid`.",
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
            description="`fail`: one bad image fails the request, and the error names its index. `per_item`: good "
            "images are answered, and a bad one has an `error` and no `part`. Absent means `fail`.",
            examples=["per_item"],
        ),
    ] = None
    image_background: ImageBackground = None


class ImageEmbedsData(Answer, frozen=True, kw_only=True):
    """One image's features, ready to be posted back."""

    object: Annotated[
        Literal["image_features"], Meta(description="Always `image_features`.", examples=["image_features"])
    ] = "image_features"
    index: IndexField
    part: Annotated[
        ImageEmbedsPart | UnsetType,
        Meta(
            description="The content part to put into `messages` or `inputs`, as it stands. Its `uuid` alone, with "
            "null features, is enough as long as the server knows it. Absent only beside `error`."
        ),
    ] = UNSET
    content_hash: Annotated[
        str | UnsetType,
        Meta(
            description="SHA-256 in hex of the pixels that the model reads: equal for equal pixels, whatever the file. "
            "Absent only beside `error`.",
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
    error: ItemErrorField = UNSET


class ImageEmbedsUsage(Answer, frozen=True, kw_only=True):
    """The cost of the request, summed over its images."""

    num_images: Annotated[Count, Meta(description="Images of the request.", examples=[1])]
    image_tokens: Annotated[Count, Meta(description="Visual tokens: rows of all tensors.", examples=[4])]
    encoder_cache_hits: Annotated[
        Count, Meta(description="Images whose features were in the encoder cache.", examples=[0])
    ]
    encoder_cache_misses: Annotated[
        Count, Meta(description="Images that the vision tower had to encode.", examples=[1])
    ]


class ImageEmbedsResponse(Answer, frozen=True, kw_only=True):
    """The features, in the order of the request."""

    id: Annotated[str, Meta(description="`imgemb-` and the request id.", examples=["imgemb-0f9c2a7d41b84e6f"])]
    object: ListField = "list"
    created: CreatedField
    model: ServedModelField
    data: Annotated[list[ImageEmbedsData], Meta(description="One entry for each image of the request, in order.")]
    usage: Annotated[ImageEmbedsUsage, Meta(description="The cost of the request.")]
