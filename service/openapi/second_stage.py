"""The operations of the second stage: documents put in order, and scores of pairs."""

from schemas.endpoints.rerank import (
    AnyRerankRequest,
    AnyRerankResponse,
    CohereRerankResponse,
    RerankRequest,
    RerankResponse,
)
from schemas.endpoints.rerank_v2 import CohereRerankRequest
from schemas.endpoints.score import ScoreRequest, ScoreResponse
from schemas.errors import CohereErrorResponse
from service.openapi.examples import second_stage
from service.openapi.parameters import TIMING_HEADERS
from service.openapi.route import Route

TAG = "Scores"

_SCORES = (
    "Scores are of the kind that `scoring` of `/v1/models` names, the same on every route: those of a reranker, which "
    "reads query and document together, an embedder's cosines, or MaxSim of a late-interaction model."
)


def _score(path: str, operation_id: str, summary: str, description: str) -> Route:
    return Route(
        path=path,
        operation_id=operation_id,
        takes_timeout=True,
        tag=TAG,
        summary=summary,
        description=description,
        request=ScoreRequest,
        response=ScoreResponse,
        headers=TIMING_HEADERS,
        request_examples=second_stage.SCORE,
        response_examples=second_stage.SCORED,
        error_examples=second_stage.SCORE_ERRORS,
    )


SECOND_STAGE = (
    Route(
        path="/v1/rerank",
        operation_id="createRerank",
        takes_timeout=True,
        tag=TAG,
        summary="Documents by relevance, in the form of Cohere's v1, Jina and vLLM",
        description=f"`documents` in falling order of their relevance to `query`, the best `top_n` of them. {_SCORES}",
        request=RerankRequest,
        response=RerankResponse,
        error=CohereErrorResponse,
        headers=TIMING_HEADERS,
        request_examples=second_stage.RERANK,
        response_examples=second_stage.RERANKED,
        error_examples=second_stage.RERANK_ERRORS,
    ),
    Route(
        path="/v2/rerank",
        operation_id="rerankV2",
        takes_timeout=True,
        tag=TAG,
        summary="Documents by relevance, in Cohere's form",
        description=f"The same as `/v1/rerank`, for clients of Cohere's v2. {_SCORES}",
        request=CohereRerankRequest,
        response=CohereRerankResponse,
        error=CohereErrorResponse,
        headers=TIMING_HEADERS,
        request_examples=second_stage.RERANK_V2,
        response_examples=second_stage.RERANKED_V2,
        error_examples=second_stage.RERANK_ERRORS,
    ),
    Route(
        path="/rerank",
        operation_id="rerankAny",
        takes_timeout=True,
        tag=TAG,
        summary="Documents by relevance, in the form of `/v1/rerank` or of TEI",
        description=(
            "With `documents` the same as `/v1/rerank`. With `texts`, as clients of text-embeddings-inference (TEI) "
            f"send them, the answer is a bare list. {_SCORES}"
        ),
        request=AnyRerankRequest,
        response=AnyRerankResponse,
        error=CohereErrorResponse,
        headers=TIMING_HEADERS,
        request_examples=second_stage.RERANK_ANY,
        response_examples=second_stage.RERANKED_ANY,
        error_examples=second_stage.RERANK_ANY_ERRORS,
    ),
    _score(
        "/score",
        "createScore",
        "Scores of pairs, in vLLM's form",
        "Exactly one of `queries`, `text_1` and `data_1` holds the queries: one for all documents, or one for each. "
        f"`documents`, `text_2` or `data_2` beside it holds the documents. {_SCORES}",
    ),
    _score("/v1/score", "createScoreV1", "The same as /score", "An alias of `/score`, for clients that look here."),
)
