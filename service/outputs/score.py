"""Scores: the logit that a reranker gives a pair, its vector of one number."""

import math
from typing import ClassVar, Self

import numpy as np

from schemas.endpoints.models import ScoreKind
from service.checkpoint.reranker_files import Activation
from service.outputs.ask import Offer, OutputAsk, Wanted
from service.outputs.block import Row, Rows
from service.outputs.dense import DenseAsk

LOGIT = DenseAsk(dimensions=1, normalize=False)
"""A logit as `cenote_kernels.finish` makes it; it names the row, too."""


class ScoreAsk(OutputAsk, frozen=True, tag="score"):
    """The logit of a pair, without its activation."""

    kind: ClassVar[str] = "score"
    output: ClassVar[str] = "score"
    is_unit: ClassVar[bool] = False

    @classmethod
    def of(cls, wanted: Wanted, offer: Offer) -> Self:
        """There is but one form."""
        return cls()

    @property
    def bytes_each(self) -> int:
        """A float32."""
        return LOGIT.bytes_each

    def are_whole(self, rows: Rows, num_vectors: int) -> bool:
        """One number."""
        return LOGIT.are_whole(rows, num_vectors)

    @classmethod
    def instead(cls, offer: Offer, route: str) -> str:
        """It has routes of its own."""
        return (
            "is a reranker: it scores documents against a query and gives no vectors; send both to `/v1/rerank`, "
            "`/v2/rerank` or `/score`"
        )

    @classmethod
    def score_kind(cls, offer: Offer) -> ScoreKind:
        """After its activation."""
        return "sigmoid" if offer.activation == "sigmoid" else "logit"


def logit(row: Row) -> float:
    """The number that the model gave a pair."""
    return float(np.frombuffer(row, "<f4")[0])


def activated(value: float, activation: Activation) -> float:
    """The score of a logit: 1 / (1 + exp(-x)) with `sigmoid`, else itself."""
    if activation == "identity":
        return value
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    small = math.exp(value)  # exp(-x) would overflow
    return small / (1 + small)
