"""Requests for scores in each form that there is, and how their answers are read."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tests.conftest import TOLERANCE, LiveServer

Form = Literal["/v1/rerank", "/v2/rerank", "/rerank", "/rerank texts", "/score", "/v1/score"]
FORMS: tuple[Form, ...] = ("/v1/rerank", "/v2/rerank", "/rerank", "/rerank texts", "/score", "/v1/score")
"""The routes; `/rerank` has a second form."""


def scored(form: Form, query: Any, documents: Sequence[Any], **more: Any) -> tuple[str, dict[str, Any]]:
    """Path and body of a request that scores documents, a list, against one query."""
    if form in ("/score", "/v1/score"):
        return form, {"queries": query, "documents": documents, **more}
    if form == "/rerank texts":
        return "/rerank", {"query": query, "texts": documents, **more}
    return form, {"query": query, "documents": documents, **more}


def scores_in(form: Form, body: bytes) -> dict[int, float]:
    """The score of each document that has one."""
    answer = json.loads(body)
    if form in ("/score", "/v1/score"):
        return {one["index"]: one["score"] for one in answer["data"] if one["score"] is not None}
    if form == "/rerank texts":
        return {one["index"]: one["score"] for one in answer}
    return {one["index"]: one["relevance_score"] for one in answer["results"]}


def scores_alone(server: LiveServer, query: Any, documents: Sequence[Any]) -> dict[int, float]:
    """The score of each pair, each asked for by itself."""
    return {
        index: server.ask("/score", {"queries": query, "documents": [one]}).json()["data"][0]["score"]
        for index, one in enumerate(documents)
    }


def are_same(got: dict[int, float], want: dict[int, float]) -> bool:
    """True if these are the scores of the same documents."""
    return got.keys() == want.keys() and bool(np.allclose([got[i] for i in want], list(want.values()), 0, TOLERANCE))
