"""`POST /embed`, `/embed_sparse` and `GET /info`: what clients of text-embeddings-inference call besides `/rerank`.

Source: TEI 1.8's OpenAPI document; huggingface_hub 1.x's `feature_extraction`, LlamaIndex's `TextEmbeddingsInference`.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.endpoints.rerank import CutDirection
from schemas.fields import DimensionsField, NormalizeField
from schemas.limits import MAX_INPUTS

TeiInputs = str | Annotated[list[str], Meta(min_length=1, max_length=MAX_INPUTS)]
"""A text, or texts."""

TeiVectors = list[list[float]]
"""Vectors, in the order of the request."""


TeiTruncateField = Annotated[
    bool | None,
    Meta(
        description="Whether a text over the model's limit is cut; false makes it an error. Absent means true.",
        examples=[True],
    ),
]

TeiDirectionField = Annotated[
    CutDirection | None,
    Meta(description="Which end of a text is cut off. Absent means `right`.", examples=["right"]),
]

PromptNameField = Annotated[
    str | None,
    Meta(
        description="What the vectors are for, by name: the `input_type` of other routes. Absent means the default "
        "instruction.",
        examples=["query"],
    ),
]


class TeiEmbedRequest(Wire, frozen=True, kw_only=True):
    """Texts to embed; the answer is a bare list of vectors, one for each."""

    inputs: Annotated[
        TeiInputs, Meta(description="A text, or texts.", examples=["a red bicycle", ["a red bicycle", "a green door"]])
    ]
    normalize: NormalizeField = None
    truncate: TeiTruncateField = None
    truncation_direction: TeiDirectionField = None
    prompt_name: PromptNameField = None
    dimensions: DimensionsField = None


class TeiSparseRequest(Wire, frozen=True, kw_only=True):
    """Texts to weigh; the answer is a bare list of sparse vectors, one for each."""

    inputs: Annotated[
        TeiInputs, Meta(description="A text, or texts.", examples=["a red bicycle", ["a red bicycle", "a green door"]])
    ]
    truncate: TeiTruncateField = None
    truncation_direction: TeiDirectionField = None
    prompt_name: PromptNameField = None


class TeiSparseValue(Answer, frozen=True, kw_only=True):
    """The weight of one vocabulary entry."""

    index: Annotated[Count, Meta(description="Id of the entry; they rise.", examples=[2417])]
    value: Annotated[float, Meta(description="Its weight, above zero.", examples=[1.5])]


TeiSparseVectors = list[list[TeiSparseValue]]
"""Sparse vectors, in the order of the request."""


class TeiEmbeddingKind(Answer, frozen=True, kw_only=True):
    """The model embeds."""

    pooling: Annotated[str, Meta(description="The pooling, as `/v1/models` names it.", examples=["last_token"])]


class TeiRerankerKind(Answer, frozen=True, kw_only=True):
    """The model scores pairs."""

    num_labels: Annotated[int, Meta(description="Always 1: the score.", examples=[1])] = 1


class TeiModelType(Answer, frozen=True, kw_only=True):
    """What the model does: exactly one of the fields is there."""

    embedding: Annotated[TeiEmbeddingKind | UnsetType, Meta(description="It embeds.")] = UNSET
    reranker: Annotated[TeiRerankerKind | UnsetType, Meta(description="It is a reranker.")] = UNSET


class TeiInfo(Answer, frozen=True, kw_only=True):
    """The served model and its limits, in TEI's words; `/v1/models` says more."""

    model_id: Annotated[str, Meta(description="The model's name.", examples=["builtin"])]
    model_sha: Annotated[str | None, Meta(description="Commit of the weights; null without one.", examples=[None])]
    model_dtype: Annotated[str, Meta(description="Number format the model computes in.", examples=["float32"])]
    model_type: Annotated[TeiModelType, Meta(description="What the model does.")]
    max_input_length: Annotated[int, Meta(description="Most tokens of one input.", examples=[8192])]
    max_client_batch_size: Annotated[int, Meta(description="Most inputs of one request.", examples=[2048])]
    max_batch_tokens: Annotated[int, Meta(description="Most tokens of one forward.", examples=[8192])]
    max_batch_requests: Annotated[int | None, Meta(description="Most inputs of one forward.", examples=[256])]
    max_concurrent_requests: Annotated[int, Meta(description="Most inputs in the queue and in work.", examples=[8192])]
    auto_truncate: Annotated[
        bool, Meta(description="Always true: texts are cut unless a request says otherwise.", examples=[True])
    ] = True
    version: Annotated[str, Meta(description="Version of this server.", examples=["0.1.0"])]
