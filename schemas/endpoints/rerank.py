"""`POST /v1/rerank` and `/rerank`: what Cohere's v1, Jina, vLLM and text-embeddings-inference (TEI) call reranking.

Rules that join fields are in `schemas.parsing.score_rules`.

Source: Cohere's SDK 7.3.1, Jina's and TEI's documents, vLLM 0.32's `entrypoints/pooling/scoring`, and what LiteLLM
1.106 sends in each of these forms.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Wire
from schemas.content.parts import ImageBackground
from schemas.content.scored import RerankInputs
from schemas.endpoints.rerank_v2 import CohereRerankMeta, CohereRerankRequest
from schemas.endpoints.score_fields import (
    CutPromptTokensField,
    ErrorsField,
    InstructionField,
    MaxTokensPerDocField,
    MaxTokensPerQueryField,
    OnErrorField,
    PriorityField,
    QueryField,
    RankFieldsField,
    RankIndexField,
    RawScoresField,
    RelevanceField,
    RerankDocument,
    ReturnDocumentsField,
    TopNField,
    UseActivationField,
    UserField,
)
from schemas.fields import ModelField, PartOrderField, ServedModelField, TruncationSideField
from schemas.limits import MAX_INT32
from schemas.usage import Usage

CutDirection = Literal["left", "right", "Left", "Right"]
"""The end of a text that is cut off, in TEI's words; its releases differ in the first letter."""

IgnoredChunks = Annotated[
    Annotated[int, Meta(ge=0, le=MAX_INT32)] | None,
    Meta(description="Of SiliconFlow's and Cohere's requests; ignored: documents are not divided.", examples=[10]),
]


class RerankRequest(CohereRerankRequest, frozen=True, kw_only=True):
    """A query, and the documents to be put in order by their relevance to it."""

    max_tokens_per_query: MaxTokensPerQueryField = None
    truncate_prompt_tokens: CutPromptTokensField = None
    truncation_side: TruncationSideField = None
    max_chunks_per_doc: IgnoredChunks = None
    overlap_tokens: IgnoredChunks = None
    user: UserField = None


class AnyRerankRequest(Wire, frozen=True, kw_only=True):
    """Exactly one of `documents` and `texts` holds the candidates: `texts` is TEI's form, and has TEI's answer."""

    model: ModelField = None
    query: QueryField
    documents: Annotated[
        RerankInputs | None,
        Meta(
            description="The candidates, each a text, or an object with text, images or both. One that comes twice is "
            "computed once.",
            examples=[["a red bicycle", "a green door"], [{"text": "a red bicycle"}]],
        ),
    ] = None
    texts: Annotated[
        RerankInputs | None,
        Meta(
            description="The candidates in TEI's form; objects are taken here, too.",
            examples=[["a red bicycle", "a green door"], [{"text": "a red bicycle"}]],
        ),
    ] = None
    top_n: TopNField = None
    return_documents: ReturnDocumentsField = None
    return_text: Annotated[
        bool | None,
        Meta(description="With `texts`: whether each entry repeats its text. Absent means false.", examples=[True]),
    ] = None
    instruction: InstructionField = None
    raw_scores: RawScoresField = None
    use_activation: UseActivationField = None
    max_tokens_per_doc: MaxTokensPerDocField = None
    max_tokens_per_query: MaxTokensPerQueryField = None
    truncate_prompt_tokens: CutPromptTokensField = None
    truncation_side: TruncationSideField = None
    truncate: Annotated[
        bool | None,
        Meta(
            description="With `texts`: whether what is longer than the model's limit is cut; false makes it an error. "
            "Absent means true.",
            examples=[True],
        ),
    ] = None
    truncation_direction: Annotated[
        CutDirection | None,
        Meta(description="With `texts`: which end of a text is cut off. Absent means `right`.", examples=["right"]),
    ] = None
    on_error: OnErrorField = None
    image_background: ImageBackground = None
    part_order: PartOrderField = None
    rank_fields: RankFieldsField = None
    max_chunks_per_doc: IgnoredChunks = None
    overlap_tokens: IgnoredChunks = None
    priority: PriorityField = None
    user: UserField = None


class RerankResult(Answer, frozen=True, kw_only=True):
    """A document's score."""

    index: RankIndexField
    relevance_score: RelevanceField
    document: Annotated[
        RerankDocument | UnsetType, Meta(description="The document, with `return_documents: true`.")
    ] = UNSET


ResultsField = Annotated[
    list[RerankResult],
    Meta(description="The scored documents, best first; of equal ones, the first in the request is first."),
]


class RerankResponse(Answer, frozen=True, kw_only=True):
    """The documents in falling order of their relevance."""

    id: Annotated[str, Meta(description="`rerank-` and the request id.", examples=["rerank-0f9c2a7d41b84e6f"])]
    model: ServedModelField
    results: ResultsField
    errors: ErrorsField = UNSET
    meta: Annotated[CohereRerankMeta, Meta(description="The cost as Cohere's clients read it.")]
    usage: Annotated[Usage, Meta(description="The cost of the request.")]


class CohereRerankResponse(Answer, frozen=True, kw_only=True):
    """The documents in falling order of their relevance, as Cohere's v2 clients read them."""

    id: Annotated[str, Meta(description="`rerank-` and the request id.", examples=["rerank-0f9c2a7d41b84e6f"])]
    results: ResultsField
    errors: ErrorsField = UNSET
    meta: Annotated[CohereRerankMeta, Meta(description="Facts about the answer.")]


class TextRank(Answer, frozen=True, kw_only=True):
    """A text's score, in TEI's form."""

    index: RankIndexField
    score: RelevanceField
    text: Annotated[
        str | UnsetType, Meta(description="The text, with `return_text: true`.", examples=["a red bicycle"])
    ] = UNSET


AnyRerankResponse = RerankResponse | list[TextRank]
"""The answer of `/rerank`: a list where the request has `texts`, best first."""
