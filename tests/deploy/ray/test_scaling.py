"""The number of embedders follows the queued tokens; without affinity a repeated image is a matter of luck.

Both need another deployment than the other tests, so they come last and share one: it starts with one embedder.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cenote_ray.autoscaling import on_queued_tokens
from tests.conftest import image
from tests.deploy.ray.cluster import Cluster
from tests.deploy.ray.test_routing import body, hit_rate_of_repeats, seeds

SCALED_S = 90
NUM_TEXTS = 64
ENCODES = "cenote_encoder_cache_misses_total"


class Context:
    """The fields of Ray's context that the policy reads."""

    def __init__(
        self, queued: list[float], most: float = 1000.0, num_requests: float = 0, held_back: float = 0
    ) -> None:
        self.current_num_replicas = len(queued)
        self.total_num_requests = num_requests
        self.total_queued_requests = held_back
        self.aggregated_metrics = {
            "queued_tokens": dict(enumerate(queued)),
            "max_queued_tokens": dict.fromkeys(range(len(queued)), most),
        }


@pytest.mark.parametrize(
    ("context", "wanted"),
    [
        (Context([0.0, 0.0]), 0.0),
        (Context([500.0, 1500.0]), 2.0),
        (Context([3000.0, 1000.0]), 4.0),
        (Context([1000.0, 1000.0], num_requests=30, held_back=10), 3.0),
    ],
)
def test_replicas_wanted_are_queued_tokens_over_what_one_may_hold(context: Context, wanted: float) -> None:
    assert on_queued_tokens(context) == (pytest.approx(wanted), {})


def test_a_policy_that_has_heard_nothing_changes_nothing() -> None:
    context = Context([1.0, 1.0])
    context.aggregated_metrics = {}
    assert on_queued_tokens(context) == (2.0, {})


@pytest.fixture(scope="module")
def scaling(cluster: Cluster) -> Cluster:
    """One embedder that a small queue makes two of, and no affinity."""
    scale = {"min_replicas": 1, "max_replicas": 2, "initial_replicas": 1, "upscale_delay_s": 1}
    cluster.deploy(settings={"max_batch_tokens": "256"}, affinity=False, autoscaling_config=scale)
    return cluster


def test_queued_tokens_bring_another_embedder(scaling: Cluster) -> None:
    assert len(scaling.embedders()) == 1
    deadline_s = time.monotonic() + SCALED_S
    body = {"input": [f"{number} long text " * 60 for number in range(NUM_TEXTS)]}
    with ThreadPoolExecutor(8) as pool:
        while len(scaling.embedders()) < 2:
            assert time.monotonic() < deadline_s, scaling.log()
            list(pool.map(lambda _: scaling.ask(body), range(8)))


def test_without_affinity_about_half_of_the_repeats_hit(scaling: Cluster) -> None:
    wait_until_both_are_asked(scaling)
    rate = hit_rate_of_repeats(scaling)
    print(f"hit rate of repeats without affinity: {rate:.2f}")
    assert 0.3 <= rate <= 0.7


def wait_until_both_are_asked(cluster: Cluster) -> None:
    """The ingress hears of a new embedder some time after that has said that it is ready."""
    before = cluster.by_replica(ENCODES)
    deadline_s = time.monotonic() + SCALED_S
    while sum(value > before[replica] for replica, value in cluster.by_replica(ENCODES).items()) < 2:
        assert time.monotonic() < deadline_s, cluster.log()
        for _ in range(8):
            cluster.ask(body(image(next(seeds))))
        time.sleep(0.5)
