"""`POST /score` and `/v1/score`, in vLLM's form: the score of each pair, in the order of the request."""

import time
from dataclasses import dataclass
from typing import Any

from litestar import post
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from schemas.endpoints.rerank import RerankRequest
from schemas.endpoints.score import ScoreData, ScoreRequest, ScoreResponse
from schemas.parsing.score_rules import check_score_request, sides_of
from service.errors import ServiceError
from service.front.scoring.comparison import Comparison, Side
from service.front.scoring.scores import Scores, scores_of
from service.http.answer_headers import TIMING_HEADERS
from service.http.errors import report_error
from service.http.examples import IMAGE_PART, TEXT_PART, example, missing, sample, to_builtin, undecodable, usage
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route


@post("/score", status_code=200)
@reads(ScoreRequest)
async def score(call: Call[ScoreRequest]) -> ASGIApp:
    """The score of each pair."""
    body = call.body
    check_score_request(body)
    queries_name, documents_name = sides_of(body)
    queries = Side(queries_name, getattr(body, queries_name), body.max_tokens_per_query or 0)
    documents = Side(documents_name, getattr(body, documents_name), body.max_tokens_per_doc or 0)
    done = await score_call(call, comparison(body, queries, documents))
    return await answer(call, done.scores.result, lambda: in_parts(_response(done)), done.fingerprint)


score_v1 = post("/v1/score", status_code=200)(score.fn)


@dataclass(frozen=True, slots=True)
class ScoredCall:
    """A request whose documents have their scores, with the model's name as the request gave it."""

    id: str
    name: str
    documents: Side
    scores: Scores
    fingerprint: str


async def score_call(call: Call[Any], asked: Comparison) -> ScoredCall:
    """Score what `asked` holds, for this route and those of `rerank`."""
    online = call.serving.find(call.body.model, "score", body=call.body)
    name = call.body.model or online.model.name
    scores = await scores_of(online, asked, call.caller)
    made_by = online.fingerprint_as_written if asked.part_order == "as_written" else online.fingerprint
    return ScoredCall(call.context.id, name, asked.documents, scores, made_by)


def comparison(body: ScoreRequest | RerankRequest, queries: Side, documents: Side) -> Comparison:
    """The comparison that a request wants, apart from the fields that hold both sides."""
    return Comparison(
        queries=queries,
        documents=documents,
        instruction=body.instruction,
        max_prompt_tokens=-1 if body.truncate_prompt_tokens is None else body.truncate_prompt_tokens,
        cut_side=body.truncation_side or "right",
        background=body.image_background or "",
        part_order=body.part_order or "reference",
        per_item=body.on_error == "per_item",
        wants_raw=body.raw_scores is True or body.use_activation is False,
    )


def _response(done: ScoredCall) -> ScoreResponse:
    scores = done.scores.scores
    data = [
        ScoreData(index=index, score=None, error=report_error(one, done.id))
        if isinstance(one, ServiceError)
        else ScoreData(index=index, score=one)
        for index, one in enumerate(scores)
    ]
    usage = done.scores.result.counts.usage(len(scores))
    return ScoreResponse(id=f"score-{done.id}", created=int(time.time()), model=done.name, data=data, usage=usage)


SCORES = (
    "Scores are of the kind that `scoring` of `/v1/models` names, the same on every route: those of a reranker, which "
    "reads query and document together, an embedder's cosines, or MaxSim of a late-interaction model."
)
QUERY_TEXT = "something to ride"
TEXTS = ["a green door", "a red bicycle"]
ITEMS = [{"text": "a green door"}, {"content": [IMAGE_PART, TEXT_PART]}]
BAD_ITEM = undecodable("documents[3].content[0].image_url")


def _route(handler: HTTPRouteHandler, operation_id: str, summary: str, description: str) -> Route:
    return Route(
        handler,
        operation_id,
        takes_timeout=True,
        tag="Scores",
        summary=summary,
        description=description,
        request=ScoreRequest,
        response=ScoreResponse,
        headers=TIMING_HEADERS,
        request_examples={
            "one": to_builtin("One query and two documents", queries=[QUERY_TEXT], documents=TEXTS),
            "pairs": to_builtin("Two pairs", queries=["a way in", QUERY_TEXT], documents=TEXTS),
            "older": to_builtin(
                "One query and two documents, in vLLM's older words", text_1=[QUERY_TEXT], text_2=TEXTS
            ),
            "pages": to_builtin("A text and an image", data_1=[{"text": QUERY_TEXT}], data_2=ITEMS),
        },
        response_examples={
            "one": example(
                "Of one query and two documents",
                sample(
                    ScoreResponse, data=[sample(ScoreData, score=0.25), sample(ScoreData, index=1)], usage=usage(52, 2)
                ),
            )
        },
        error_examples={400: missing("queries", "text_1", "data_1"), 422: BAD_ITEM},
    )


ROUTES = (
    _route(
        score,
        "createScore",
        "Scores of pairs, in vLLM's form",
        "Exactly one of `queries`, `text_1` and `data_1` holds the queries: one for all documents, or one for each. "
        f"`documents`, `text_2` or `data_2` beside it holds the documents. {SCORES}",
    ),
    _route(score_v1, "createScoreV1", "The same as /score", "An alias of `/score`, for clients that look here."),
)
