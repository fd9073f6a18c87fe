"""The whole service over HTTP on the device: small encoders under many clients, and short queries of the 2B shape.

Prompts have 50 tokens, as in the public workload that an H200's figures are compared on (Snowflake 2025, "Arctic
Inference", embeddings: batches of 1, 16 and 64, up to 1,024 requests at once). Clients are processes of their own.
"""

import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from service.checkpoint.hub import CHECKPOINT
from service.model.architectures import load_model
from service.model.packed.packed_batch import PackedBatch
from service.outputs.plan import TokenPlan
from tests.bench.checkpoint import random_checkpoint
from tests.bench.machine import cpu_s
from tests.bench.texts import TextMaker
from tests.bench.work import text_body
from tests.conftest import LiveServer
from tests.gpu.clients import Clients
from tests.gpu.encoder_checkpoint import SHAPES, write_encoder
from tests.gpu.row import Row
from tests.gpu.stage import Stage
from tests.two_fronts import fronts_of

PROMPT_TOKENS = 50
LOADS = ((1, 1024), (16, 256), (64, 64))
"""Inputs of a request, and requests at once."""
FRONTS = (1, 4, 8)
AT_ONCE = (1, 16, 64)
NUM_REQUESTS = {1: 4096, 16: 1024, 64: 512}
"""Of a load, by the inputs of each."""
NUM_ROUNDS = 3
"""Times that a load comes, one after the other: some seconds in all."""
BARE_TOKENS = 16_384
"""Of the batch whose forward is timed without a server."""
NUM_QUERIES = 256
QUERY_TOKENS = 16
WANTED_OVER_BARE = 2.0


def _served_by(shape: str, num_fronts: int) -> str:
    return f"{shape}, {num_fronts} fronts"


def _load_name(of: str, batch: int, at_once: int) -> str:
    return f"{of}: requests of {batch} prompts of {PROMPT_TOKENS} tokens, {at_once} at once"


def _query_name(at_once: int) -> str:
    return f"2B shape, queries of {QUERY_TOKENS} tokens over HTTP, {at_once} at once"


NAMES = (
    *(_load_name(_served_by(shape, fronts), *load) for shape in SHAPES for fronts in FRONTS for load in LOADS),
    *map(_query_name, AT_ONCE),
)


def measure(stage: Stage) -> Iterator[Row]:
    """Servers one after the other, each on a random checkpoint of its shape; all encoders have one vocabulary."""
    num_processes = stage.size(8, 1)
    with tempfile.TemporaryDirectory() as name, Clients(num_processes) as clients:
        folder = Path(name)
        loads: dict[tuple[int, int], tuple[list[bytes], list[bytes]]] = {}
        for shape in SHAPES:
            checkpoint = write_encoder(folder / shape, shape, is_tiny=stage.is_dry)
            if not loads:
                texts = TextMaker(checkpoint)
                for batch, at_once in LOADS:
                    nums = stage.size(at_once, 2), stage.size(NUM_REQUESTS[batch], 4)
                    loads[batch, at_once] = _bodies(texts, nums[0], batch), _bodies(texts, nums[1], batch)
            bare = _bare_rate(stage, checkpoint)
            for num_fronts in FRONTS:
                server = _serve(stage, checkpoint, folder / f"{shape}-{num_fronts}.log", *_fronts(stage, num_fronts))
                yield from _loads(stage, clients, server, loads, bare, shape, num_fronts)
        checkpoint = CHECKPOINT if stage.is_dry else random_checkpoint("2b", folder)
        yield from _queries(stage, clients, checkpoint, folder / "queries.log")


def _fronts(stage: Stage, num_fronts: int) -> tuple[str, ...]:
    """All clients have one address here, and the kernel gives each front its share of connections as it comes."""
    return ("--fronts", str(stage.size(num_fronts, 1)), "--max-connections", "16384", "--proxies", "127.0.0.1")


def _bare_rate(stage: Stage, checkpoint: Path) -> float:
    """Prompts a second of the forward alone, in one large batch."""
    dtype = torch.float32 if stage.is_dry else torch.bfloat16
    backbone = load_model("text_encoder", checkpoint, stage.device, dtype, "mean").backbone
    lengths = [PROMPT_TOKENS] * (stage.size(BARE_TOKENS, 100) // PROMPT_TOKENS)
    ids = torch.from_numpy(np.random.default_rng(1).integers(5, 60, sum(lengths)))
    positions = np.concatenate([backbone.positions(length, ()) for length in lengths], axis=1)
    plans = [TokenPlan(one.tolist()) for one in torch.split(ids, lengths)]
    batch = PackedBatch(ids, torch.from_numpy(positions), lengths, plans=plans)
    for _ in range(3):  # plain, captured, and by its graph, if it has one
        backbone.states(batch, "all")
    return len(lengths) / stage.wall_seconds(lambda: backbone.states(batch, "all"))


def _loads(
    stage: Stage,
    clients: Clients,
    server: LiveServer,
    loads: Mapping[tuple[int, int], tuple[list[bytes], list[bytes]]],
    bare: float,
    shape: str,
    num_fronts: int,
) -> Iterator[Row]:
    """Rates, and how busy the processes were: which of them is at its limit."""
    try:
        for (batch, at_once), (first, bodies) in loads.items():
            clients.ask(server.url, first, len(first))  # kernels are chosen, memory is taken
            pids = [server.engine_pid(), *(fronts_of(server) or [server.process.pid])]
            before_s = [cpu_s(pid) for pid in pids]
            asked = clients.ask(server.url, bodies * NUM_ROUNDS, min(len(bodies), stage.size(at_once, 2)))
            busy = [(cpu_s(pid) - one) / asked.seconds for pid, one in zip(pids, before_s, strict=True)]
            engine, front = busy[0], max(busy[1:])
            rate = len(bodies) * NUM_ROUNDS * batch / asked.seconds
            is_held = num_fronts == FRONTS[-1]
            yield Row(
                _load_name(_served_by(shape, num_fronts), batch, at_once),
                f"{rate:,.0f} prompts/s, {asked.told()}; of a core the engine {engine:.2f}, a front {front:.2f}",
                f"{bare:,.0f}, the forward alone",
                rate / bare,
                "no front as busy as the engine" if is_held else "",
                front < engine if is_held else None,
            )
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
