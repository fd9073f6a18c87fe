"""The fields that several requests or answers share: type, bounds, description and example, each stated once."""

from typing import Annotated, Literal

from msgspec import Meta, UnsetType

from schemas.base import Count
from schemas.content.examples import EXAMPLE_IMAGE
from schemas.content.parts import Content
from schemas.errors import ErrorBody
from schemas.limits import MAX_INPUTS, MAX_INT32, MAX_TOKEN_IDS

TruncationSide = Literal["left", "right"]
"""The end of a text that is cut off: `right` keeps its start, `left` its end."""

Truncate = Literal["NONE", "START", "END"]
"""Treatment of a text that is too long: an error, or its start or its end is cut off."""

EmbedDtype = Literal["float32", "float16", "bfloat16"]
"""Number format of a vector's components."""

Endianness = Literal["native", "little", "big"]
"""Byte order of components; `native` is little."""

OnError = Literal["fail", "per_item"]
"""Effect of a bad item: the request fails, or the item's place in the answer holds an error."""

PartOrder = Literal["reference", "as_written"]
"""The order in which a model reads the parts of an item."""

ModelField = Annotated[
    str | None,
    Meta(
        description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
        examples=["builtin"],
    ),
]

InputsField = Annotated[
    Annotated[list[Content], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
    Meta(
        description="Items of text and images, one vector each: the same objects on `/v1/embeddings` and `/v2/embed`.",
        examples=[[{"content": [{"type": "text", "text": "a red bicycle"}]}]],
    ),
]

TextsField = Annotated[
    Annotated[list[str], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
    Meta(
        description="Texts, one vector each. The empty string is a text.", examples=[["a red bicycle", "a green door"]]
    ),
]

ImagesField = Annotated[
    Annotated[list[str], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
    Meta(description="Images as data URIs (`data:image/png;base64,...`), one vector each.", examples=[[EXAMPLE_IMAGE]]),
]

DimensionsField = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
    Meta(
        description="Length of the vectors: their first components, normalized again (matryoshka). Absent means the "
        "model's own length; `/v1/models` lists the lengths offered.",
        examples=[64],
    ),
]

EmbedDtypeField = Annotated[
    EmbedDtype | None,
    Meta(
        description="Number format of the components. In base64 and raw answers it is that of the bytes; the numbers "
        "of a `float` answer are rounded to it, and printed in the fewest digits that give the rounded value back as "
        "float32. A component too large for `float16` (above 65504, only with `normalize: false`) is an error of its "
        "item. Absent means `float32`.",
        examples=["float16"],
    ),
]

EndiannessField = Annotated[
    Endianness | None,
    Meta(
        description="Byte order of the components in base64 and raw answers; `native` is `little`. Absent means "
        "`little`.",
        examples=["little"],
    ),
]

NormalizeField = Annotated[
    bool | None,
    Meta(
        description="Whether vectors are scaled to length 1 after `dimensions` cut them; false gives the raw pooled "
        "state, cut. Absent means what the model's profile says, which is true for embedding models.",
        examples=[True],
    ),
]

PartOrderField = Annotated[
    PartOrder | None,
    Meta(
        description="The order in which the model reads the parts of a `content`. `reference`: as the model's own "
        "embedder has them, whatever order they are sent in: videos, then images (pages and features among them), then "
        "all texts, joined with nothing between. `as_written`: as they are sent, each medium where it stands among the "
        "texts, as the checkpoint's chat template has it and vLLM renders `messages`; for models whose `part_orders` "
        "of `/v1/models` has it. The vectors differ, and so does `x-model-fingerprint`: send one value for everything "
        "that goes into an index, and with its queries. Absent means `reference`, in `messages` too.",
        examples=["reference"],
    ),
]

PartOrdersField = Annotated[
    list[PartOrder],
    Meta(
        description="What `part_order` may be: `as_written` is for models whose prompts hold parts in any order.",
        examples=[["reference", "as_written"]],
    ),
]

TruncatePromptTokensField = Annotated[
    Annotated[int, Meta(ge=-1, le=MAX_INT32)] | None,
    Meta(
        description="Shorten a prompt to this many tokens; -1 means the model's limit. Only text is shortened, never "
        "images or the template. Absent means what `truncate_long_texts` of `/v1/models` says: an error, or -1.",
        examples=[512],
    ),
]

TruncationSideField = Annotated[
    TruncationSide | None,
    Meta(description="Which end of a text is cut off. Absent means `right`.", examples=["right"]),
]

TruncateField = Annotated[
    Truncate | None,
    Meta(
        description="What happens to a text that is too long: `END` cuts its end, `START` its start, `NONE` makes it "
        "an error. Images are never cut. Absent means `END`.",
        examples=["END"],
    ),
]
"""Of Cohere's requests."""

TokenIdsField = Annotated[
    Annotated[list[Annotated[int, Meta(ge=0, le=MAX_INT32)]], Meta(max_length=MAX_TOKEN_IDS)],
    Meta(description="Ids of the model's own tokenizer.", examples=[[64, 392]]),
]

EmbeddingIdField = Annotated[str, Meta(description="`embd-` and the request id.", examples=["embd-0f9c2a7d41b84e6f"])]

ListField = Annotated[Literal["list"], Meta(description="Always `list`.", examples=["list"])]

CreatedField = Annotated[
    int,
    Meta(
        description="When the answer was made, in seconds since 1970.",
        extra_json_schema={"format": "int64"},
        examples=[1790000000],
    ),
]

ServedModelField = Annotated[str, Meta(description="The model's name as the request gave it.", examples=["builtin"])]

IndexField = Annotated[
    Count, Meta(description="Index of this item in the request, counted from 0; entries are in order.", examples=[0])
]

ItemErrorField = Annotated[
    ErrorBody | UnsetType,
    Meta(description="Why this item has no result. Only with `on_error: per_item`, and only on items that failed."),
]

EXAMPLE_FINGERPRINT = "7c9e6f0d3b1a4852956e0f7a2d84c1b3"

Fingerprint = Annotated[
    str,
    Meta(
        description="Identifies the model that makes the vectors exactly: a digest of all bytes of its weights and "
        "files, their number format, how its prompts are built and how images are read. Vectors of two fingerprints do "
        "not belong in one index. It does not depend on the server, its device or the model's name.",
        examples=[EXAMPLE_FINGERPRINT],
    ),
]
