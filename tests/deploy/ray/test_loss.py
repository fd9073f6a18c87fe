"""One embedder is killed under load: nobody is left without an answer, and the cluster is whole again."""

import json
import os
import signal
import time
from collections import Counter
from itertools import count

from tests.conftest import image, image_part, text_part
from tests.deploy.ray.cluster import Cluster
from tests.steady_load import SteadyLoad

NUM_CLIENTS = 8
BEFORE_S, AFTER_S = 2.0, 8.0
WHOLE_S = 90
ENCODES = "cenote_encoder_cache_misses_total"

numbers = count()


def body_of(index: int) -> bytes:
    """One of 40 images, with a text like no other."""
    parts = [image_part(image(20_000 + index % 40)), text_part(f"number {index}")]
    return json.dumps({"inputs": [{"content": parts}]}).encode()


def test_a_killed_replica_loses_no_request_beyond_a_retry_and_another_takes_its_place(cluster: Cluster) -> None:
    before = cluster.embedders()
    assert len(before) == 2
    known = embedders_that_answer(cluster, 2)
    load = SteadyLoad(cluster.url, NUM_CLIENTS, body_of, waits_as_told=True).start()
    time.sleep(BEFORE_S)
    num_before = load.num_right
    os.kill(before[0], signal.SIGKILL)
    time.sleep(AFTER_S)
    load.stop()
    refused = Counter(index for index, _ in load.failures)
    print(f"{load.num_right} answered, {len(refused)} repeated by the client")
    assert num_before > NUM_CLIENTS
    assert load.num_right > num_before + NUM_CLIENTS
    assert max(refused.values(), default=0) < 2, load.failures[:5]
    embedders_that_answer(cluster, 1, besides=known)
    assert len(cluster.embedders()) == 2
    assert cluster.http.get("/readyz").json()["status"] == "ok"


def embedders_that_answer(cluster: Cluster, num: int, besides: frozenset[str] = frozenset()) -> frozenset[str]:
    """Ask until so many others than these have encoded an image of ours.

    A process starts long before it is on the ring, and its first count is of the images that it asks itself.
    """
    first: dict[str, int] = {}
    found: frozenset[str] = frozenset()
    deadline_s = time.monotonic() + WHOLE_S
    while len(found) < num:
        assert time.monotonic() < deadline_s, found
        for _ in range(4):
            cluster.ask({"inputs": [{"content": [image_part(image(30_000 + next(numbers)))]}]})
        time.sleep(0.5)
        counts = cluster.by_replica(ENCODES)
        found = frozenset(one for one, count in counts.items() if count > first.setdefault(one, count)) - besides
    return found
