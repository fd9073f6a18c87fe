"""Bodies and answers of the second stage for the examples of the document."""

from typing import Any

from schemas.endpoints.embed import EmbedApiVersion
from schemas.endpoints.rerank import CohereRerankResponse, RerankResponse, RerankResult, TextRank
from schemas.endpoints.rerank_v2 import CohereRerankMeta
from schemas.endpoints.score import ScoreData, ScoreResponse
from schemas.endpoints.score_fields import RerankDocument
from service.openapi.examples.answers import named, sample, usage
from service.openapi.examples.errors import EMBED, ERRORS, cohere, invalid
from service.openapi.examples.requests import IMAGE_PART, TEXT_PART, Examples, body

_QUERY = "something to ride"
_TEXTS = ["a green door", "a red bicycle"]
_ITEMS = [{"text": "a green door"}, {"content": [IMAGE_PART, TEXT_PART]}]

RERANK: Examples = {
    "texts": body("The better of two texts", query=_QUERY, documents=_TEXTS, top_n=1, return_documents=True),
    "pages": body(
        "A text, and an image with one",
        query={"content": [TEXT_PART]},
        documents=_ITEMS,
        instruction="Find what shows the same thing.",
        on_error="per_item",
    ),
}

RERANK_V2: Examples = {
    "texts": body("The better of two texts", query=_QUERY, documents=_TEXTS, top_n=1, max_tokens_per_doc=512),
    "pages": body("A text, and an image with one", query={"text": _QUERY}, documents=_ITEMS),
}

RERANK_ANY: Examples = {
    "documents": body("In the form of `/v1/rerank`", query={"text": _QUERY}, documents=_ITEMS),
    "texts": {
        "summary": "In TEI's form",
        "value": {"query": _QUERY, "texts": _TEXTS, "raw_scores": False, "return_text": True, "truncate": True},
    },
}

SCORE: Examples = {
    "one": body("One query and two documents", queries=[_QUERY], documents=_TEXTS),
    "pairs": body("Two pairs", queries=["a way in", _QUERY], documents=_TEXTS),
    "older": body("One query and two documents, in vLLM's older words", text_1=[_QUERY], text_2=_TEXTS),
    "pages": body("A text and an image", data_1=[{"text": _QUERY}], data_2=_ITEMS),
}

_BEST = sample(RerankResult, document=sample(RerankDocument))
_META = sample(CohereRerankMeta, api_version=sample(EmbedApiVersion, version="1"))

RERANKED = named(
    "texts", "The better of two texts", sample(RerankResponse, results=[_BEST], meta=_META, usage=usage(52, 2))
)

RERANKED_V2 = named("texts", "The better of two texts", sample(CohereRerankResponse, results=[sample(RerankResult)]))

_RANKS = [sample(TextRank, text="a red bicycle"), sample(TextRank, index=0, score=0.25, text="a green door")]

RERANKED_ANY = RERANKED | named("list", "In TEI's form", _RANKS)

_SCORES = [sample(ScoreData, score=0.25), sample(ScoreData, index=1)]

SCORED = named("one", "Of one query and two documents", sample(ScoreResponse, data=_SCORES, usage=usage(52, 2)))

_WITHOUT_DOCUMENTS = invalid("invalid_request", "`documents`: required, got nothing", "documents")
_NEITHER = invalid("missing_input", "expected exactly one of `documents`, `texts`, got none", "documents")
_NO_QUERIES = invalid("missing_input", "expected exactly one of `queries`, `text_1`, `data_1`, got none", "queries")
_NO_IMAGE = invalid("media_undecodable", ERRORS[422]["error"]["message"], "documents[3].content[0].image_url", 3)

RERANK_ERRORS: dict[int, Any] = EMBED | {400: cohere(_WITHOUT_DOCUMENTS), 422: cohere(_NO_IMAGE)}
RERANK_ANY_ERRORS = RERANK_ERRORS | {400: cohere(_NEITHER)}
SCORE_ERRORS: dict[int, Any] = ERRORS | {400: _NO_QUERIES, 422: _NO_IMAGE}
