"""`POST /score` and `/v1/score`, in vLLM's form: the score of each pair, in the order of the request."""

import time
from dataclasses import dataclass
from typing import Any

from litestar import post
from litestar.types import ASGIApp

from schemas.endpoints.rerank import RerankRequest
from schemas.endpoints.score import ScoreData, ScoreRequest, ScoreResponse
from schemas.parsing.score_rules import check_score_request, sides_of
from service.errors import ServiceError
from service.front.scoring.comparison import Comparison, Side
from service.front.scoring.scores import Scores, scores_of
from service.http.body import Call, read_call
from service.http.errors import report_error
from service.http.request_context import AnyRequest
from service.http.responses.answer import answer, observe


@post(["/score", "/v1/score"], status_code=200)
async def score(request: AnyRequest) -> ASGIApp:
    """The score of each pair."""
    with await read_call(request, ScoreRequest) as call:
        body = call.body
        check_score_request(body)
        queries_name, documents_name = sides_of(body)
        queries = Side(queries_name, getattr(body, queries_name), body.max_tokens_per_query)
        documents = Side(documents_name, getattr(body, documents_name), body.max_tokens_per_doc)
        done = await score_call(call, comparison(body, queries, documents), body.model)
        return await answer(call.serving.turns, lambda: _response(done), done.scores.result, done.fingerprint)


@dataclass(frozen=True, slots=True)
class ScoredCall:
    """A request whose documents have their scores.

    Attributes:
        id: of the request.
        name: of the model as the request gave it.
        documents: what was scored.
        fingerprint: of the model.
    """

    id: str
    name: str
    documents: Side
    scores: Scores
    fingerprint: str


async def score_call(call: Call[Any], asked: Comparison, model: str | None) -> ScoredCall:
    """Score what `asked` holds, for this route and those of `rerank`.

    Args:
        model: that the request names.

    Raises:
        ServiceError: an input is at fault, or the service cannot take it now.
    """
    online = call.serving.find(model, "score")
    name = model or online.model.name
    scores = await scores_of(online, asked, call.caller)
    observe(scores.result, call.context)
    made_by = online.fingerprint_of(asked.part_order)
    return ScoredCall(call.context.id, name, asked.documents, scores, made_by)


def comparison(body: ScoreRequest | RerankRequest, queries: Side, documents: Side) -> Comparison:
    """What a request wants compared, apart from the fields that hold both sides."""
    return Comparison(
        queries=queries,
        documents=documents,
        instruction=body.instruction,
        max_prompt_tokens=-1 if body.truncate_prompt_tokens is None else body.truncate_prompt_tokens,
        cut_side=body.truncation_side or "right",
        background=body.image_background,
        part_order=body.part_order,
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
