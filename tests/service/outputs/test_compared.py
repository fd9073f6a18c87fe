"""Scores of vectors: logits, cosines and MaxSim against plain formulas, and the order of an answer."""

import math

import numpy as np
import pytest

from service.errors import InputError
from service.fairness.threads import all_at_once
from service.front.job import EmbedResult
from service.front.scoring.scores import Scores
from service.outputs.dense import dot, unit_vector
from service.outputs.score import activated, logit
from service.outputs.sparse import entries, pack_sparse, sparse_dot
from service.outputs.tokens import TokensAsk, max_sim, mean_max_sim


@pytest.mark.parametrize("value", [-1000.0, -3.25, -1e-9, 0.0, 0.5, 40.0, 1000.0])
def test_a_logit_becomes_a_probability_or_stays(value: float) -> None:
    got = activated(value, "sigmoid")
    assert got == pytest.approx(0.5 * (1 + math.tanh(value / 2)), abs=1e-15)
    assert activated(value, "identity") == value
    assert logit(np.array([value], "<f4").tobytes()) == np.float32(value)


def test_a_cosine_is_of_unit_vectors_whatever_their_rounding() -> None:
    one, other = np.random.default_rng(1).standard_normal((2, 64)).astype("<f4")
    got = all_at_once(dot(unit_vector(one.tobytes()), unit_vector(other.tobytes())))
    exact = (
        one.astype(float)
        @ other.astype(float)
        / math.sqrt((one.astype(float) ** 2).sum() * (other.astype(float) ** 2).sum())
    )
    assert got == pytest.approx(exact, abs=1e-15)
    same = dot(unit_vector(one.tobytes()), unit_vector(one.tobytes()))
    assert all_at_once(same) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (40, 900), (2000, 5), (256, 512), (257, 513), (700, 1300)])
def test_max_sim_is_the_sum_of_the_best_products(shape: tuple[int, int]) -> None:
    draw = np.random.default_rng(2)
    query, document = (draw.standard_normal((num, 128)).astype("<f4") for num in shape)
    vectors = [TokensAsk.numbers(one.tobytes(), 128) for one in (query, document)]
    got, want = all_at_once(max_sim(*vectors)), (query.astype(float) @ document.astype(float).T).max(axis=1).sum()
    assert got == pytest.approx(want, rel=1e-6)
    assert all_at_once(mean_max_sim(*vectors)) == got / len(query)


@pytest.mark.parametrize("shape", [(4000, 4000), (32, 60_000), (60_000, 32), (1, 1 << 18)])
def test_max_sim_may_be_paused_inside_a_document(shape: tuple[int, int]) -> None:
    query, document = (np.ones((num, 128), np.float32) for num in shape)
    num_steps = len(list(max_sim(query, document)))
    assert query.size * len(document) / num_steps <= 1 << 24  # a millisecond, where half of that was measured


@pytest.mark.parametrize(("num_query", "num_document"), [(0, 5), (5, 0), (1, 40), (30, 30), (200, 1)])
def test_a_sparse_product_is_that_of_the_vectors_with_their_zeros(num_query: int, num_document: int) -> None:
    draw = np.random.default_rng(3)
    whole = np.zeros((2, 300), np.float32)
    rows = []
    for vector, count in zip(whole, (num_query, num_document), strict=True):
        indices = np.sort(draw.choice(300, count, replace=False))
        vector[indices] = draw.random(count)
        rows.append(pack_sparse(indices, vector[indices]))
    got = all_at_once(sparse_dot(*map(entries, rows)))
    assert got == pytest.approx(float(whole[0].astype(float) @ whole[1].astype(float)), abs=1e-12)


def test_the_best_come_first_and_equals_in_the_order_of_the_request() -> None:
    failed = InputError("invalid_request", "no")
    scores = Scores([0.5, 2.0, failed, 0.5, -1.0], EmbedResult([], 0.0))
    assert scores.best(5) == [(1, 2.0), (0, 0.5), (3, 0.5), (4, -1.0)]
    assert scores.best(2) == [(1, 2.0), (0, 0.5)]
    assert scores.errors == [failed]
