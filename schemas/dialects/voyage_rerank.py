"""Voyage's rerank, which Vercel's and LiteLLM's providers send too: `top_k` and `truncation`, answered with `data`.

Source: voyageai 0.5.0, `voyageai/client.py`; LiteLLM 1.109, `llms/voyage/rerank`.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from schemas.base import Answer, Wire
from schemas.dialects.dialect import Dialect, refuse
from schemas.endpoints.rerank import RerankRequest
from schemas.endpoints.score_fields import RankIndexField, RelevanceField, TopNField
from schemas.fields import ListField, ServedModelField
from schemas.usage import Usage


class VoyageRerankRequest(RerankRequest, frozen=True, kw_only=True):
    """`/v1/rerank` with Voyage's fields; the answer is Voyage's, too."""

    top_k: TopNField = None
    truncation: Annotated[
        bool | None,
        Meta(
            description="Whether a text over the model's limit is cut; false makes it an error. Absent means true.",
            examples=[True],
        ),
    ] = None


class VoyageRank(Answer, frozen=True, kw_only=True):
    """A document's score."""

    index: RankIndexField
    relevance_score: RelevanceField
    document: Annotated[
        str | UnsetType, Meta(description="Its text, with `return_documents: true`.", examples=["a red bicycle"])
    ] = UNSET


class VoyageRerankResponse(Answer, frozen=True, kw_only=True):
    """The documents in falling order of their relevance, as Voyage's clients read them."""

    object: ListField = "list"
    data: Annotated[list[VoyageRank], Meta(description="The scored documents, best first.")]
    model: ServedModelField
    usage: Annotated[Usage, Meta(description="The cost of the request.")]


def read(body: VoyageRerankRequest, own: type[Wire]) -> Wire:
    """The same request with `top_n`; it stays of its own type, which its answer depends on.

    Raises:
        RuleError: a field says the same twice, or the answer has no place for errors.
    """
    if body.top_k is not None and body.top_n is not None:
        refuse("top_k", "got `top_n` beside it, which says the same; send one of them", "conflicting_input")
    if body.on_error == "per_item":
        refuse("on_error", "expected fail, got per_item; Voyage's answer has no place for errors")
    return replace(body, top_n=body.top_n or body.top_k)


DIALECT = Dialect(
    name="Voyage",
    about="`top_k` and `truncation`; the answer has `data` in place of `results`.",
    body=VoyageRerankRequest,
    routes=(RerankRequest,),
    tells=lambda shape: bool(shape.fields & {"top_k", "truncation"}),
    read=read,
    response=VoyageRerankResponse,
    example={
        "model": "builtin",
        "query": "something to ride",
        "documents": ["a green door", "a red bicycle"],
        "top_k": 1,
        "truncation": True,
        "return_documents": True,
    },
)
