"""The fields that requests for scores share: type, bounds, description and example, each stated once."""

from typing import Annotated

from msgspec import Meta, UnsetType

from schemas.base import Answer, Count
from schemas.content.scored import RerankInput, RerankInputs
from schemas.errors import ErrorBody
from schemas.fields import OnError
from schemas.limits import MAX_INPUTS, MAX_INT32, MAX_PRIORITY

QueryField = Annotated[
    RerankInput,
    Meta(
        description="What is looked for: a text, or an object with text, images or both.",
        examples=["a bicycle", {"text": "a bicycle"}],
    ),
]

DocumentsField = Annotated[
    RerankInputs,
    Meta(
        description="The candidates, each a text, or an object with text, images or both. One that comes twice is "
        "computed once.",
        examples=[["a red bicycle", "a green door"], [{"text": "a red bicycle"}]],
    ),
]

TopNField = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
    Meta(
        description="Most results of the answer, the best ones; all documents are scored. Absent means all.",
        examples=[10],
    ),
]

ReturnDocumentsField = Annotated[
    bool | None,
    Meta(description="Whether each result repeats the text of its document. Absent means false.", examples=[True]),
]

RankFieldsField = Annotated[
    Annotated[list[str], Meta(max_length=MAX_INPUTS)] | None,
    Meta(description="Of Cohere's requests; documents have no field but `text`.", examples=[["text"]]),
]

InstructionField = Annotated[
    str | None,
    Meta(
        description="What makes a document relevant, in your own words. A reranker reads it with every pair; an "
        "embedder reads it before the query, and has its own for documents. Absent means the model's default.",
        examples=["Given a question, find the page that answers it."],
    ),
]

RawScoresField = Annotated[
    bool | None,
    Meta(
        description="Whether scores are a reranker's logits, without the activation that `scoring` of `/v1/models` "
        "names. Other models have one kind of score. Absent means false.",
        examples=[False],
    ),
]

UseActivationField = Annotated[
    bool | None,
    Meta(
        description="vLLM's word for the same: false is `raw_scores: true`. Absent means true.",
        examples=[True],
    ),
]

MaxTokensField = Annotated[int, Meta(ge=1, le=MAX_INT32)] | None

MaxTokensPerDocField = Annotated[
    MaxTokensField,
    Meta(
        description="Most tokens of a document's text; the rest is cut off. Absent means that texts are cut where the "
        "model's limit is reached.",
        examples=[512],
    ),
]

MaxTokensPerQueryField = Annotated[
    MaxTokensField, Meta(description="The same of a query's text. Absent means no such limit.", examples=[128])
]

CutPromptTokensField = Annotated[
    Annotated[int, Meta(ge=-1, le=MAX_INT32)] | None,
    Meta(
        description="Most tokens of a prompt; texts are cut to fit, images and the template never are. -1 and absent "
        "mean the model's limit.",
        examples=[512],
    ),
]

OnErrorField = Annotated[
    OnError | None,
    Meta(
        description="`fail`: one bad document fails the request, and the error names its index. `per_item`: the others "
        "are scored, and the bad one has an error in place of a score. A bad query fails the request. Absent means "
        "`fail`.",
        examples=["per_item"],
    ),
]

UserField = Annotated[str | None, Meta(description="Accepted and ignored.", examples=["user-1234"])]

PriorityField = Annotated[
    Annotated[int, Meta(ge=0, le=MAX_PRIORITY)] | None, Meta(description="Accepted and ignored.", examples=[0])
]

RelevanceField = Annotated[
    float,
    Meta(
        description="The higher, the more relevant. What it means depends on `scoring` of `/v1/models`.",
        examples=[0.875],
    ),
]

RankIndexField = Annotated[Count, Meta(description="Index of the document in the request, from 0.", examples=[1])]

ErrorsField = Annotated[
    list[ErrorBody] | UnsetType,
    Meta(
        description="Why documents have no score, each with its `index`. Only with `on_error: per_item`, and only if "
        "one failed."
    ),
]


class RerankDocument(Answer, frozen=True, kw_only=True):
    """The text of a document."""

    text: Annotated[
        str,
        Meta(description="Its text; empty where it has none. Images are not repeated.", examples=["a red bicycle"]),
    ]
