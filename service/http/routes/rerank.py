"""`POST /v1/rerank`, `/v2/rerank` and `/rerank`: documents in the order of their relevance to a query.

The forms of Cohere's v1 and v2, of Jina and vLLM, and by `texts` that of text-embeddings-inference (TEI).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from litestar import post
from litestar.types import ASGIApp
from msgspec import UNSET, UnsetType

from schemas.base import Answer
from schemas.dialects.voyage_rerank import VoyageRank, VoyageRerankRequest, VoyageRerankResponse
from schemas.endpoints.embed import EmbedApiVersion
from schemas.endpoints.rerank import (
    AnyRerankRequest,
    AnyRerankResponse,
    CohereRerankResponse,
    RerankRequest,
    RerankResponse,
    RerankResult,
    TextRank,
)
from schemas.endpoints.rerank_v2 import (
    DOCUMENTS_PER_UNIT,
    CohereRerankBilledUnits,
    CohereRerankMeta,
    CohereRerankRequest,
    CohereRerankTokens,
)
from schemas.endpoints.score_fields import RerankDocument
from schemas.parsing.score_rules import check_any_rerank_request, check_rerank_request
from service.front.scoring.comparison import Comparison, Side
from service.http.answer_headers import TIMING_HEADERS
from service.http.errors import report_error
from service.http.examples import TEXT_PART, example, invalid, missing, sample, to_builtin, usage
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.http.routes.score import BAD_ITEM, ITEMS, QUERY_TEXT, SCORES, TEXTS, ScoredCall, comparison, score_call
from service.prompt.truncation import Side as CutSide


@post("/v1/rerank", status_code=200)
@reads(RerankRequest)
async def rerank_v1(call: Call[RerankRequest]) -> ASGIApp:
    """The documents, best first, in the form of Cohere's v1, Jina and vLLM."""
    body = call.body
    check_rerank_request(body)
    asked = _comparison(call, body)
    respond: Callable[[ScoredCall, RerankRequest], Answer] = _response
    if isinstance(body, VoyageRerankRequest):
        respond = _voyage_response
        if body.truncation is False:
            asked = replace(asked, cut_side=None)
    done = await score_call(call, asked)
    return await answer(call, done.scores.result, lambda: in_parts(respond(done, body)), done.fingerprint)


@post("/v2/rerank", status_code=200)
@reads(CohereRerankRequest)
async def rerank_v2(call: Call[CohereRerankRequest]) -> ASGIApp:
    """The documents, best first, in the form of Cohere's v2."""
    check_rerank_request(call.body)
    body = RerankRequest(**{name: getattr(call.body, name) for name in CohereRerankRequest.__struct_fields__})
    done = await score_call(call, _comparison(call, body))
    return await answer(call, done.scores.result, lambda: in_parts(_response_v2(done, body)), done.fingerprint)


@post("/rerank", status_code=200)
@reads(AnyRerankRequest)
async def rerank(call: Call[AnyRerankRequest]) -> ASGIApp:
    """The documents, best first: as `/v1/rerank` answers, or as a list where they came as `texts`."""
    check_any_rerank_request(call.body)
    body, is_texts = _as_v1(call.body), call.body.texts is not None
    asked = _comparison(call, body, "texts" if is_texts else "documents")
    if call.body.truncate is False:
        asked = replace(asked, cut_side=None)
    done = await score_call(call, asked)

    respond = _ranks if is_texts else _response
    return await answer(call, done.scores.result, lambda: in_parts(respond(done, body)), done.fingerprint)


def _as_v1(body: AnyRerankRequest) -> RerankRequest:
    """The same request in the form of `/v1/rerank`."""
    same = {name: getattr(body, name) for name in RerankRequest.__struct_fields__}
    if body.texts is None:
        return RerankRequest(**same)
    side = cast(CutSide | None, body.truncation_direction and body.truncation_direction.lower())
    changed = {
        "documents": body.texts,
        "return_documents": body.return_text,
        "truncation_side": side or body.truncation_side,
    }
    return RerankRequest(**same | changed)


def _comparison(call: Call[Any], body: RerankRequest, documents_name: str = "documents") -> Comparison:
    """The comparison that `body` wants, which is the call's own or made of it."""
    queries = Side("query", body.query, body.max_tokens_per_query or 0)
    asked = comparison(body, queries, Side(documents_name, body.documents, body.max_tokens_per_doc or 0))
    return replace(asked, answer_bytes=call.num_bytes) if body.return_documents else asked


def _response(done: ScoredCall, body: RerankRequest) -> RerankResponse:
    return RerankResponse(
        id=f"rerank-{done.id}",
        model=done.name,
        results=_results(done, body),
        errors=[report_error(one, done.id) for one in done.scores.errors] or UNSET,
        meta=_meta(done, "1"),
        usage=done.scores.result.counts.usage(len(done.scores.scores)),
    )


def _voyage_response(done: ScoredCall, body: RerankRequest) -> VoyageRerankResponse:
    data = [
        VoyageRank(index=one.index, relevance_score=one.relevance_score, document=_text(one))
        for one in _results(done, body)
    ]
    return VoyageRerankResponse(
        data=data, model=done.name, usage=done.scores.result.counts.usage(len(done.scores.scores))
    )


def _text(one: RerankResult) -> str | UnsetType:
    return one.document.text if isinstance(one.document, RerankDocument) else UNSET


def _response_v2(done: ScoredCall, body: RerankRequest) -> CohereRerankResponse:
    return CohereRerankResponse(
        id=f"rerank-{done.id}",
        results=_results(done, body),
        errors=[report_error(one, done.id) for one in done.scores.errors] or UNSET,
        meta=_meta(done, "2"),
    )


def _meta(done: ScoredCall, version: str) -> CohereRerankMeta:
    units = -(-len(done.scores.scores) // DOCUMENTS_PER_UNIT)
    return CohereRerankMeta(
        api_version=EmbedApiVersion(version=version),
        billed_units=CohereRerankBilledUnits(search_units=units),
        tokens=CohereRerankTokens(input_tokens=done.scores.result.counts.num_tokens),
    )


def _results(done: ScoredCall, body: RerankRequest) -> list[RerankResult]:
    return [
        RerankResult(
            index=index,
            relevance_score=score,
            document=RerankDocument(text=done.documents.text(index)) if body.return_documents else UNSET,
        )
        for index, score in done.scores.best(body.top_n or len(done.documents.items))
    ]


def _ranks(done: ScoredCall, body: RerankRequest) -> list[TextRank]:
    return [
        TextRank(index=index, score=score, text=done.documents.text(index) if body.return_documents else UNSET)
        for index, score in done.scores.best(body.top_n or len(done.documents.items))
    ]


_RERANKED = example(
    "The better of two texts",
    sample(
        RerankResponse,
        results=[sample(RerankResult, document=sample(RerankDocument))],
        meta=sample(CohereRerankMeta, api_version=sample(EmbedApiVersion, version="1")),
        usage=usage(52, 2),
    ),
)
_ERRORS = {400: invalid("invalid_request", "`documents`: required, got nothing", "documents"), 422: BAD_ITEM}

ROUTES = (
    Route(
        rerank_v1,
        "createRerank",
        takes_timeout=True,
        tag="Scores",
        summary="Documents by relevance, in the form of Cohere's v1, Jina and vLLM",
        description=f"`documents` in falling order of their relevance to `query`, the best `top_n` of them. {SCORES}",
        request=RerankRequest,
        response=RerankResponse,
        headers=TIMING_HEADERS,
        request_examples={
            "texts": to_builtin(
                "The better of two texts", query=QUERY_TEXT, documents=TEXTS, top_n=1, return_documents=True
            ),
            "pages": to_builtin(
                "A text, and an image with one",
                query={"content": [TEXT_PART]},
                documents=ITEMS,
                instruction="Find what shows the same thing.",
                on_error="per_item",
            ),
        },
        response_examples={"texts": _RERANKED},
        error_examples=_ERRORS,
    ),
    Route(
        rerank_v2,
        "rerankV2",
        takes_timeout=True,
        tag="Scores",
        summary="Documents by relevance, in Cohere's form",
        description=f"The same as `/v1/rerank`, for clients of Cohere's v2. {SCORES}",
        request=CohereRerankRequest,
        response=CohereRerankResponse,
        headers=TIMING_HEADERS,
        request_examples={
            "texts": to_builtin(
                "The better of two texts", query=QUERY_TEXT, documents=TEXTS, top_n=1, max_tokens_per_doc=512
            ),
            "pages": to_builtin("A text, and an image with one", query={"text": QUERY_TEXT}, documents=ITEMS),
        },
        response_examples={
            "texts": example("The better of two texts", sample(CohereRerankResponse, results=[sample(RerankResult)]))
        },
        error_examples=_ERRORS,
    ),
    Route(
        rerank,
        "rerankAny",
        takes_timeout=True,
        tag="Scores",
        summary="Documents by relevance, in the form of `/v1/rerank` or of TEI",
        description=(
            "With `documents` the same as `/v1/rerank`. With `texts`, as clients of text-embeddings-inference (TEI) "
            f"send them, the answer is a bare list. {SCORES}"
        ),
        request=AnyRerankRequest,
        response=AnyRerankResponse,
        headers=TIMING_HEADERS,
        request_examples={
            "documents": to_builtin("In the form of `/v1/rerank`", query={"text": QUERY_TEXT}, documents=ITEMS),
            "texts": example(
                "In TEI's form",
                {"query": QUERY_TEXT, "texts": TEXTS, "raw_scores": False, "return_text": True, "truncate": True},
            ),
        },
        response_examples={
            "texts": _RERANKED,
            "list": example(
                "In TEI's form",
                [sample(TextRank, text="a red bicycle"), sample(TextRank, index=0, score=0.25, text="a green door")],
            ),
        },
        error_examples=_ERRORS | {400: missing("documents", "texts")},
    ),
)
