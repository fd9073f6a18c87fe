"""`POST /v2/rerank`: Cohere's request, and the facts that its clients read beside the results.

Source: Cohere's SDK 7.3.1, `cohere/v2/raw_client.py` and `cohere/types/api_meta.py`.
"""

from typing import Annotated

from msgspec import Meta

from schemas.base import Answer, Count, Wire
from schemas.content.parts import ImageBackground
from schemas.endpoints.embed import EmbedApiVersion
from schemas.endpoints.score_fields import (
    DocumentsField,
    InstructionField,
    MaxTokensPerDocField,
    OnErrorField,
    PriorityField,
    QueryField,
    RankFieldsField,
    RawScoresField,
    ReturnDocumentsField,
    TopNField,
    UseActivationField,
)
from schemas.fields import ModelField, PartOrderField

DOCUMENTS_PER_UNIT = 100
"""Documents that Cohere counts as one search unit."""


class CohereRerankRequest(Wire, frozen=True, kw_only=True):
    """A query, and the documents to be put in order by their relevance to it."""

    model: ModelField = None
    query: QueryField
    documents: DocumentsField
    top_n: TopNField = None
    return_documents: ReturnDocumentsField = None
    instruction: InstructionField = None
    raw_scores: RawScoresField = None
    use_activation: UseActivationField = None
    max_tokens_per_doc: MaxTokensPerDocField = None
    on_error: OnErrorField = None
    image_background: ImageBackground = None
    part_order: PartOrderField = None
    rank_fields: RankFieldsField = None
    priority: PriorityField = None


class CohereRerankBilledUnits(Answer, frozen=True, kw_only=True):
    """The cost of the answered documents in Cohere's units."""

    search_units: Annotated[Count, Meta(description="One for every hundred documents that were begun.", examples=[1])]


class CohereRerankTokens(Answer, frozen=True, kw_only=True):
    """Tokens that the model read."""

    input_tokens: Annotated[Count, Meta(description="Tokens of all prompts together.", examples=[52])]
    output_tokens: Annotated[Count, Meta(description="Always 0: scores generate no tokens.", examples=[0])] = 0


class CohereRerankMeta(Answer, frozen=True, kw_only=True):
    """Facts about the answer."""

    api_version: Annotated[EmbedApiVersion, Meta(description="The API version.")]
    billed_units: Annotated[CohereRerankBilledUnits, Meta(description="The cost of the request.")]
    tokens: Annotated[CohereRerankTokens, Meta(description="Tokens that the model read.")]
