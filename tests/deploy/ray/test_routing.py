"""An image that comes again lands where its features are; a crowd for one spills; each replica's counts show."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from tests.conftest import image, image_part, text_part
from tests.deploy.ray.cluster import Cluster
from tests.deploy.ray.conftest import MAX_ONGOING

NUM_IMAGES = 100
CROWD = 8 * MAX_ONGOING
METRICS_S = 30

seeds = count(10_000)


def body(url: str, instruction: str = "Represent the colors of the image.", text: str = "") -> dict[str, Any]:
    return {"instruction": instruction, "inputs": [{"content": [image_part(url), text_part(text)]}]}


def hit_rate_of_repeats(cluster: Cluster) -> float:
    """Each of some images is sent twice, under another instruction; which part of the second times was a hit.

    By the engines' own counts, in the answers' `usage`.
    """
    images = [image(next(seeds)) for _ in range(NUM_IMAGES)]
    first = [cluster.ask(body(url)).json()["usage"] for url in images]
    assert sum(usage["encoder_cache_misses"] for usage in first) == NUM_IMAGES
    random.Random(0).shuffle(images)
    again = [cluster.ask(body(url, "Represent the shapes of the image.")).json()["usage"] for url in images]
    return sum(usage["encoder_cache_hits"] for usage in again) / NUM_IMAGES


def growth(cluster: Cluster, series: str, before: Counter[str]) -> Counter[str]:
    """By how much a series has grown at each embedder, once two of them have counted their fair part of the images.

    An embedder that an earlier test killed keeps its series at the agent, and does not grow; the agent is told of the
    others' counts every few seconds.
    """
    deadline_s = time.monotonic() + METRICS_S
    while True:
        grown = cluster.by_replica(series) - before
        if sum(num >= NUM_IMAGES / 6 for num in grown.values()) >= 2:
            return grown
        assert time.monotonic() < deadline_s, f"{series}: {grown}"
        time.sleep(0.5)


def test_repeated_images_land_where_they_are_cached(cluster: Cluster) -> None:
    rate = hit_rate_of_repeats(cluster)
    print(f"hit rate of repeats: {rate:.2f}")
    assert rate >= 0.95


def test_each_replica_counts_its_own_hits_and_misses(cluster: Cluster) -> None:
    series = ("cenote_encoder_cache_misses_total", "cenote_encoder_cache_hits_total")
    before = {one: cluster.by_replica(one) for one in series}
    hit_rate_of_repeats(cluster)
    misses, hits = (growth(cluster, one, before[one]) for one in series)
    assert len(misses) == 2
    assert set(hits) == set(misses)


def test_one_image_under_many_instructions_in_one_request_is_encoded_once(cluster: Cluster) -> None:
    url = image(next(seeds))
    parts = [{"content": [image_part(url), text_part(f"view {number}")]} for number in range(8)]
    usage = cluster.ask({"inputs": parts}).json()["usage"]
    assert (usage["encoder_cache_misses"], usage["encoder_cache_hits"]) == (1, 7)


def test_a_crowd_for_one_image_spills_to_the_other_replica(cluster: Cluster) -> None:
    url = image(next(seeds), 640, 480)
    with ThreadPoolExecutor(CROWD) as pool:
        answers = list(pool.map(lambda number: cluster.ask(body(url, text=f"{number} word" * 60)), range(CROWD)))
    usages = [answer.json()["usage"] for answer in answers]  # each was 200
    assert sum(usage["encoder_cache_misses"] for usage in usages) == 2  # once at its owner, once at the other
    assert sum(usage["encoder_cache_hits"] for usage in usages) == CROWD - 2
