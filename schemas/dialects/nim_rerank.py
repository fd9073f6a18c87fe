"""NIM's `passages` in place of `documents`, and its `truncate`.

Source: NVIDIA NeMo Retriever Reranking NIM, `POST /v1/ranking`.
"""

from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from schemas.base import Wire
from schemas.content.scored import RerankInputs
from schemas.dialects.dialect import Dialect, refuse
from schemas.endpoints.rerank import AnyRerankRequest, RerankRequest
from schemas.endpoints.rerank_v2 import CohereRerankRequest
from schemas.endpoints.score_fields import QueryField
from schemas.fields import ModelField

NimTruncate = Literal["NONE", "END"]
"""Treatment of a pair that is too long."""

_EXAMPLE = [{"text": "a green door"}, {"text": "a red bicycle"}]


class NimRerankRequest(Wire, frozen=True, kw_only=True):
    """`/v1/rerank`, `/v2/rerank` and `/rerank` with `passages`."""

    model: ModelField = None
    query: QueryField
    passages: Annotated[
        RerankInputs,
        Meta(description="The candidates, under NIM's name for `documents`.", examples=[_EXAMPLE]),
    ]
    truncate: Annotated[
        NimTruncate | None,
        Meta(description="Only `END`: a text over the model's limit is cut, as it is without.", examples=["END"]),
    ] = None


def read(body: NimRerankRequest, own: type[Any]) -> Wire:
    """The passages as documents.

    Raises:
        RuleError: texts may not be cut.
    """
    if body.truncate == "NONE":
        refuse("truncate", "expected END, got NONE; texts are cut on this route, `truncate: false` of /rerank is not")
    return cast(Wire, own(model=body.model, query=body.query, documents=body.passages))


DIALECT = Dialect(
    name="NIM",
    about="`passages` in place of `documents`.",
    body=NimRerankRequest,
    routes=(RerankRequest, CohereRerankRequest, AnyRerankRequest),
    tells=lambda shape: "passages" in shape.fields,
    read=read,
    example={"model": "builtin", "query": {"text": "something to ride"}, "passages": _EXAMPLE, "truncate": "END"},
)
