"""`POST /score` and `/v1/score`: vLLM's request and answer.

Rules that join fields are in `schemas.parsing.score_rules`.

Source: vLLM 0.32, `entrypoints/pooling/scoring`.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta

from schemas.base import Answer, Wire
from schemas.content.parts import ImageBackground
from schemas.content.scored import ScoreInput
from schemas.endpoints.score_fields import (
    CutPromptTokensField,
    InstructionField,
    MaxTokensPerDocField,
    MaxTokensPerQueryField,
    OnErrorField,
    PriorityField,
    RawScoresField,
    UseActivationField,
    UserField,
)
from schemas.fields import (
    CreatedField,
    IndexField,
    ItemErrorField,
    ListField,
    ModelField,
    PartOrderField,
    ServedModelField,
    TruncationSideField,
)
from schemas.usage import Usage

_QUERY_EXAMPLES = [["a bicycle"], [{"text": "a bicycle"}]]
_DOCUMENT_EXAMPLES = [["a red bicycle", "a green door"], [{"text": "a red bicycle"}]]

QueriesField = Annotated[
    ScoreInput | None,
    Meta(
        description="One query for all documents, or one for each: texts, or objects with text, images or both. A "
        "text or an object alone is accepted too and means a list of one; this document lists only the array, since "
        "many client generators cannot send a union that holds arrays.",
        examples=_QUERY_EXAMPLES,
    ),
]

DocumentsField = Annotated[
    ScoreInput | None, Meta(description="The documents, as `queries` has its own.", examples=_DOCUMENT_EXAMPLES)
]

SameQueriesField = Annotated[
    ScoreInput | None, Meta(description="Another name of `queries`.", examples=_QUERY_EXAMPLES)
]

SameDocumentsField = Annotated[
    ScoreInput | None, Meta(description="Another name of `documents`.", examples=_DOCUMENT_EXAMPLES)
]


class ScoreRequest(Wire, frozen=True, kw_only=True):
    """One pair of fields holds what to score: `queries` and `documents`, or vLLM's older names for them."""

    model: ModelField = None
    queries: QueriesField = None
    documents: DocumentsField = None
    text_1: SameQueriesField = None
    text_2: SameDocumentsField = None
    data_1: SameQueriesField = None
    data_2: SameDocumentsField = None
    instruction: InstructionField = None
    use_activation: UseActivationField = None
    raw_scores: RawScoresField = None
    max_tokens_per_doc: MaxTokensPerDocField = None
    max_tokens_per_query: MaxTokensPerQueryField = None
    truncate_prompt_tokens: CutPromptTokensField = None
    truncation_side: TruncationSideField = None
    on_error: OnErrorField = None
    image_background: ImageBackground = None
    part_order: PartOrderField = None
    priority: PriorityField = None
    user: UserField = None


class ScoreData(Answer, frozen=True, kw_only=True):
    """The score of one pair."""

    index: IndexField
    object: Annotated[Literal["score"], Meta(description="Always `score`.", examples=["score"])] = "score"
    score: Annotated[
        float | None,
        Meta(
            description="The higher, the more relevant; what it means depends on `scoring` of `/v1/models`. Null only "
            "beside `error`.",
            examples=[0.875],
        ),
    ]
    error: ItemErrorField = UNSET


class ScoreResponse(Answer, frozen=True, kw_only=True):
    """The scores, in the order of the request."""

    id: Annotated[str, Meta(description="`score-` and the request id.", examples=["score-0f9c2a7d41b84e6f"])]
    object: ListField = "list"
    created: CreatedField
    model: ServedModelField
    data: Annotated[list[ScoreData], Meta(description="One entry for each pair of the request, in order.")]
    usage: Annotated[Usage, Meta(description="The cost of the request.")]
