"""`POST /v1/ranking`: passages in the order of their relevance to a query, in the form of NVIDIA's reranking NIM."""

from dataclasses import replace

from litestar import post
from litestar.types import ASGIApp

from schemas.dialects.nim_rerank import NimRanking, NimRankings, NimRerankRequest
from schemas.endpoints.rerank import RerankRequest
from schemas.parsing.score_rules import check_rerank_request
from service.front.scoring.comparison import Side
from service.http.answer_headers import TIMING_HEADERS
from service.http.examples import example, invalid, sample, to_builtin, undecodable, usage
from service.http.request import Call, reads
from service.http.responses.answer import answer, in_parts
from service.http.route import Route
from service.http.routes.score import ITEMS, QUERY_TEXT, TEXTS, ScoredCall, comparison, score_call


@post("/v1/ranking", status_code=200)
@reads(NimRerankRequest)
async def rank(call: Call[NimRerankRequest]) -> ASGIApp:
    """The passages, best first, with a reranker's logits."""
    body, passages = call.body, Side("passages", call.body.passages)
    same = RerankRequest(query=body.query, documents=body.passages, raw_scores=True)
    check_rerank_request(same, passages.name)
    asked = comparison(same, Side("query", body.query), passages)
    done = await score_call(call, replace(asked, cut_side=None) if body.truncate == "NONE" else asked)
    num_best = body.top_n or len(body.passages)
    return await answer(call, done.scores.result, lambda: in_parts(_rankings(done, num_best)), done.fingerprint)


def _rankings(done: ScoredCall, num_best: int) -> NimRankings:
    rankings = [NimRanking(index=index, logit=score) for index, score in done.scores.best(num_best)]
    return NimRankings(rankings=rankings, usage=done.scores.result.counts.usage(len(done.scores.scores)))


ROUTE = Route(
    rank,
    "rankPassages",
    takes_timeout=True,
    tag="Scores",
    summary="Passages by relevance, in NIM's form",
    description=(
        "The same as `/v1/rerank`, for clients of NVIDIA's NeMo Retriever Reranking NIM. Scores are a reranker's "
        "logits, without the activation that `scoring` of `/v1/models` names; an embedder's are its cosines, those of "
        "a late-interaction model MaxSim."
    ),
    request=NimRerankRequest,
    response=NimRankings,
    headers=TIMING_HEADERS,
    request_examples={
        "texts": to_builtin(
            "Two texts", query={"text": QUERY_TEXT}, passages=[{"text": text} for text in TEXTS], truncate="END"
        ),
        "pages": to_builtin("A text, and an image with one", query={"text": QUERY_TEXT}, passages=ITEMS),
    },
    response_examples={
        "texts": example(
            "Of two texts",
            sample(
                NimRankings, rankings=[sample(NimRanking), sample(NimRanking, index=0, logit=-1.5)], usage=usage(52, 2)
            ),
        )
    },
    error_examples={
        400: invalid("invalid_request", "`passages`: required, got nothing", "passages"),
        422: undecodable("passages[1].content[0].image_url"),
    },
)
