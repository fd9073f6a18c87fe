"""One embedder is killed under load: nobody is left without an answer, and the cluster is whole again."""

import os
import signal
import threading
import time
from itertools import count
from typing import Any

import httpx

from tests.conftest import image, image_part, text_part
from tests.deploy.ray.cluster import Cluster

NUM_CLIENTS = 8
BEFORE_S, AFTER_S = 2.0, 8.0
WHOLE_S = 90
ENCODES = "cenote_encoder_cache_misses_total"

numbers = count()


class Load:
    """Clients that ask without a pause, each with a connection of its own, and repeat a refused request once."""

    def __init__(self, url: str) -> None:
        self.num_answered = self.num_repeated = 0
        self.lost: list[str] = []
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(url, seed)) for seed in range(NUM_CLIENTS)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, url: str, seed: int) -> None:
        images = [image(20_000 + seed * 100 + number) for number in range(5)]
        with httpx.Client(base_url=url, timeout=60) as http:
            while not self._is_over.is_set():
                number = next(numbers)
                parts = [image_part(images[number % 5]), text_part(f"number {number}")]
                self._ask(http, {"inputs": [{"content": parts}]})

    def _ask(self, http: httpx.Client, body: dict[str, Any]) -> None:
        told = []
        for _ in range(2):
            try:
                answer = http.post("/v1/embeddings", json=body)
            except httpx.TransportError as error:
                told.append(repr(error))
            else:
                if answer.status_code == 200:
                    break
                told.append(f"{answer.status_code} {answer.text[:200]}")
                time.sleep(float(answer.headers.get("retry-after", 1)))
        with self._lock:
            self.num_answered += len(told) < 2
            self.num_repeated += len(told) == 1
            self.lost += [str(told)] if len(told) == 2 else []


def test_a_killed_replica_loses_no_request_beyond_a_retry_and_another_takes_its_place(cluster: Cluster) -> None:
    before = cluster.embedders()
    assert len(before) == 2
    known = embedders_that_answer(cluster, 2)
    with Load(cluster.url) as load:
        time.sleep(BEFORE_S)
        num_before = load.num_answered
        os.kill(before[0], signal.SIGKILL)
        time.sleep(AFTER_S)
    print(f"{load.num_answered} answered, {load.num_repeated} repeated by the client, {len(load.lost)} lost")
    assert num_before > NUM_CLIENTS
    assert load.num_answered > num_before + NUM_CLIENTS
    assert load.lost == []
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
