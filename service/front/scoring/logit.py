"""Logits: the scores of a reranker, whose vector of a pair is one number."""

import math

import numpy as np

from service.ipc.vectors import Row
from service.prompt.profile.profile import Scoring


def logit(row: Row) -> float:
    """The number that the model gave a pair."""
    return float(np.frombuffer(row, "<f4")[0])


def activated(value: float, scoring: Scoring) -> float:
    """The score of a logit: 1 / (1 + exp(-x)) with `sigmoid`, else itself."""
    if scoring.activation == "identity":
        return value
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    small = math.exp(value)  # exp(-x) would overflow
    return small / (1 + small)
