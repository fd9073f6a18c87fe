"""NIM's `passages` in place of `documents`, and its `truncate`; on its own route, `POST /v1/ranking`, its answer too.

Source: NVIDIA NeMo Retriever Reranking NIM; langchain-nvidia-ai-endpoints 1.5.0, `reranking.py`; RAGFlow's
`NvidiaRerank`, which sends `top_n`.
"""

from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from schemas.base import Answer, Wire
from schemas.content.scored import RerankInputs
from schemas.dialects.dialect import Dialect, refuse
from schemas.endpoints.rerank import AnyRerankRequest, RerankRequest
from schemas.endpoints.rerank_v2 import CohereRerankRequest
from schemas.endpoints.score_fields import QueryField, RankIndexField, TopNField
from schemas.fields import ModelField
from schemas.usage import Usage

NimTruncate = Literal["NONE", "END"]
"""Treatment of a pair that is too long."""

_EXAMPLE = [{"text": "a green door"}, {"text": "a red bicycle"}]


class NimRerankRequest(Wire, frozen=True, kw_only=True):
    """`/v1/ranking`; and `/v1/rerank`, `/v2/rerank` and `/rerank` with `passages`."""

    model: ModelField = None
    query: QueryField
    passages: Annotated[
        RerankInputs,
        Meta(description="The candidates, under NIM's name for `documents`.", examples=[_EXAMPLE]),
    ]
    truncate: Annotated[
        NimTruncate | None,
        Meta(
            description="`END`, and absent: a text over the model's limit is cut. `NONE`, of `/v1/ranking` only: it is "
            "an error.",
            examples=["END"],
        ),
    ] = None
    top_n: TopNField = None


class NimRanking(Answer, frozen=True, kw_only=True):
    """A passage's score."""

    index: RankIndexField
    logit: Annotated[
        float,
        Meta(
            description="The higher, the more relevant: a reranker's logit, or the score of another model.",
            examples=[2.5],
        ),
    ]


class NimRankings(Answer, frozen=True, kw_only=True):
    """The passages in falling order of their relevance, as NIM's clients read them."""

    rankings: Annotated[list[NimRanking], Meta(description="The scored passages, best first.")]
    usage: Annotated[Usage, Meta(description="The cost of the request.")]


def read(body: NimRerankRequest, own: type[Any]) -> Wire:
    """The passages as documents.

    Raises:
        RuleError: texts may not be cut.
    """
    if body.truncate == "NONE":
        refuse("truncate", "expected END, got NONE; texts are cut on this route, on /v1/ranking they need not be")
    return cast(Wire, own(model=body.model, query=body.query, documents=body.passages, top_n=body.top_n))


DIALECT = Dialect(
    name="NIM",
    about="`passages` in place of `documents`.",
    body=NimRerankRequest,
    routes=(RerankRequest, CohereRerankRequest, AnyRerankRequest),
    tells=lambda shape: "passages" in shape.fields,
    read=read,
    example={"model": "builtin", "query": {"text": "something to ride"}, "passages": _EXAMPLE, "truncate": "END"},
)
