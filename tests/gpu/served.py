"""The whole service over HTTP on the device: small encoders under many clients, and short queries of the 2B shape.

Prompts have 50 tokens, as in the public workload that an H200's figures are compared on (Snowflake 2025, "Arctic
Inference", embeddings: batches of 1, 16 and 64, up to 1,024 requests at once). Clients are processes of their own.
"""

import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.checkpoint.hub import CHECKPOINT
from tests.bench.checkpoint import random_checkpoint
from tests.bench.texts import TextMaker
from tests.bench.work import text_body
from tests.conftest import LiveServer
from tests.gpu.clients import Clients
from tests.gpu.encoder_checkpoint import SHAPES, write_encoder
from tests.gpu.row import Row
from tests.gpu.stage import Stage

PROMPT_TOKENS = 50
LOADS = ((1, 1024), (16, 256), (64, 64))
"""Inputs of a request, and requests at once."""
FRONTS = (1, 8)
AT_ONCE = (1, 16, 64)
NUM_INPUTS = 16_384
"""Of a load, about."""
NUM_QUERIES = 256
QUERY_TOKENS = 16
WANTED_OVER_BARE = 2.0


def _load_name(shape: str, num_fronts: int, load: tuple[int, int]) -> str:
    return f"{shape}, {num_fronts} fronts: requests of {load[0]} prompts of {PROMPT_TOKENS} tokens, {load[1]} at once"


def _query_name(at_once: int) -> str:
    return f"2B shape, queries of {QUERY_TOKENS} tokens over HTTP, {at_once} at once"


NAMES = (
    *(_load_name(shape, fronts, load) for shape in SHAPES for fronts in FRONTS for load in LOADS),
    *map(_query_name, AT_ONCE),
)


def measure(stage: Stage) -> Iterator[Row]:
    """Servers one after the other, each on a random checkpoint of its shape."""
    num_processes = stage.size(8, 1)
    with tempfile.TemporaryDirectory() as name, Clients(num_processes) as clients:
        folder = Path(name)
        for shape in SHAPES:
            checkpoint = write_encoder(folder / shape, shape, is_tiny=stage.is_dry)
            for num_fronts in FRONTS:
                yield from _loads(stage, clients, checkpoint, folder / f"{shape}-{num_fronts}.log", shape, num_fronts)
        checkpoint = CHECKPOINT if stage.is_dry else random_checkpoint("2b", folder)
        yield from _queries(stage, clients, checkpoint, folder / "queries.log")


def _loads(stage: Stage, clients: Clients, checkpoint: Path, log: Path, shape: str, num_fronts: int) -> Iterator[Row]:
    server = _serve(stage, checkpoint, log, "--fronts", str(stage.size(num_fronts, 1)))
    try:
        texts = TextMaker(checkpoint)
        for load in LOADS:
            batch, at_once = load[0], stage.size(load[1], 2)
            num = stage.size(NUM_INPUTS // batch, 4)
            clients.ask(server.url, _bodies(texts, at_once, batch), at_once)  # kernels are chosen, memory is taken
            asked = clients.ask(server.url, _bodies(texts, num, batch), at_once)
            rate = num * batch / asked.seconds
            yield Row(_load_name(shape, num_fronts, load), f"{rate:,.0f} prompts/s, {asked.told()}")
    finally:
        server.stop()


def _queries(stage: Stage, clients: Clients, checkpoint: Path, log: Path) -> Iterator[Row]:
    """At one, the forward's own time is the header's, so the rest is what the service adds."""
    server = _serve(stage, checkpoint, log)
    try:
        texts = TextMaker(checkpoint)
        for at_once in AT_ONCE:
            num = stage.size(NUM_QUERIES, 4)
            for _ in range(2):  # the first warms up
                asked = clients.ask(server.url, _bodies(texts, num, 1, QUERY_TOKENS), stage.size(at_once, 2))
            name = _query_name(at_once)
            if at_once > 1:
                yield Row(name, f"{num / asked.seconds:,.0f} queries/s, {asked.told()}")
                continue
            bare_s = _inference_s(server, [texts.text(QUERY_TOKENS) for _ in range(stage.size(64, 4))])
            ratio = asked.median_s / bare_s
            wanted, holds = f"<= {WANTED_OVER_BARE:g} times the forward", ratio <= WANTED_OVER_BARE
            yield Row(name, asked.told(), f"{bare_s * 1e3:.1f} ms in the engine", ratio, wanted, holds)
    finally:
        server.stop()


def _inference_s(server: LiveServer, texts: Sequence[str]) -> float:
    """Median time in the engine of lone queries, by the answers' headers."""
    found = [server.ask("/v1/embeddings", text_body([text])).headers["x-inference-time"] for text in texts]
    return statistics.median(float(one) / 1e3 for one in found)


def _serve(stage: Stage, checkpoint: Path, log: Path, *flags: str) -> LiveServer:
    device = "cuda" if stage.device.type == "cuda" else "cpu"
    model = "builtin" if checkpoint == CHECKPOINT else str(checkpoint)
    dtype = "float32" if stage.is_dry else "bfloat16"
    return LiveServer(log, "--model", model, "--device", device, "--dtype", dtype, *flags).wait_until_ready()


def _bodies(texts: TextMaker, num: int, batch: int, num_tokens: int = PROMPT_TOKENS) -> list[bytes]:
    return [json.dumps(text_body(texts.texts(batch, num_tokens - 2))).encode() for _ in range(num)]
