"""Measures what Ray Serve adds to a request, and what a shared server takes for vectors and features.

The figures stand in docs/decisions/ray.md and docs/decisions/result-cache.md.

`PYTHONPATH=.:kernels:deploy/ray .ray/bin/python -m tests.deploy.ray.measure`: both services up at once, asked in turns.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from service.engine.shared_tiers.valkey import ValkeyTier
from service.engine_series import ClientSeries
from service.front.engine_client.vector_store import VectorStore
from tests.conftest import LiveServer, image, image_part
from tests.deploy.ray.cluster import running_cluster
from tests.service.engine.shared_tiers.redis_server import RedisServer

NUM_TURNS = 150
NUM_CLIENTS = 8
NUM_CROWD = 400
NUM_TIMES = 40
VECTOR_BYTES = 8192
FEATURE_MIB = (0.25, 1, 4, 16)


def main() -> None:
    """Print everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shared_server(folder)
        plain = LiveServer(folder / "plain.log", "--model", "builtin").wait_until_ready()
        try:
            with running_cluster(folder) as cluster:
                cluster.deploy()
                latency({"plain": plain.http, "ray": cluster.http})
        finally:
            plain.stop()


def latency(sides: dict[str, httpx.Client]) -> None:
    """Milliseconds of one request at a time, side by side in turns, and requests a second of several clients."""
    url = image(1, 256, 256)
    bodies: dict[str, dict[str, Any]] = {
        "a text": {"input": "a red bicycle against a wall"},
        "a cached image": {"inputs": [{"content": [image_part(url)]}]},
        "64 texts": {"input": [f"text {number}" for number in range(64)]},
    }
    for what, body in bodies.items():
        taken: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(NUM_TURNS):
            for side, http in sides.items():
                taken[side].append(timed(partial(ask, http, body)))
        for side, times in taken.items():
            cuts = statistics.quantiles(times, n=20)
            print(f"{what}, {side}: p50 {cuts[9]:.1f} ms, p95 {cuts[18]:.1f} ms")
    for side, http in sides.items():
        began_s = time.perf_counter()
        with ThreadPoolExecutor(NUM_CLIENTS) as pool:
            list(pool.map(partial(ask, http), [bodies["a text"]] * NUM_CROWD))
        rate = NUM_CROWD / (time.perf_counter() - began_s)
        print(f"{NUM_CLIENTS} clients, a text each, {side}: {rate:.0f} requests/s")


def ask(http: httpx.Client, body: dict[str, Any]) -> None:
    """One request, which must be answered."""
    http.post("/v1/embeddings", json=body).raise_for_status()


def shared_server(folder: Path) -> None:
    """Milliseconds to ask a server on this machine for a vector, and for features of several sizes."""
    redis = RedisServer(folder)
    try:
        tier = ValkeyTier(redis.url)
        for mib in FEATURE_MIB:
            blob = os.urandom(int(mib * (1 << 20)))
            tier.put(f"{mib}", blob)
            times = [timed(partial(tier.get, f"{mib}")) for _ in range(NUM_TIMES)]
            print(f"features of {mib} MiB: GET p50 {statistics.median(times):.1f} ms")
        asyncio.run(vectors(redis.url))
    finally:
        redis.stop()


async def vectors(url: str) -> None:
    """The same for finished vectors."""
    store, names = VectorStore(url, ClientSeries("measured")), {number: bytes([number]) * 32 for number in range(64)}
    store.keep({name: {"float32": os.urandom(VECTOR_BYTES)} for name in names.values()})
    await asyncio.sleep(1)
    for num in (1, 64):
        wanted, times = dict(list(names.items())[:num]), []
        for _ in range(NUM_TIMES):
            began_s = time.perf_counter()
            assert len(await store.find(wanted)) == num
            times.append((time.perf_counter() - began_s) * 1e3)
        print(f"{num} vectors of {VECTOR_BYTES} bytes: MGET p50 {statistics.median(times):.2f} ms")


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds that it takes."""
    began_s = time.perf_counter()
    work()
    return (time.perf_counter() - began_s) * 1e3


if __name__ == "__main__":
    main()
