"""A runner that fails on demand, for the tests of the engine's loop."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from service.ipc.messages import Media, PixelSlot, Request
from service.model.packed.prefix_cache import PrefixCache
from service.outputs.block import NUM_BITS
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan

POISON, NOT_FINITE, SHORT, SPOILING = 666, 667, 668, 669
UNFINISHED = DenseAsk(dimensions=24)
NO_MEMORY = ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.", "out of memory")


class OneRow:
    """As much of a head as the loop asks for."""

    def num_rows(self, plan: TokenPlan) -> int:
        return 1


class TroubledRunner:
    """Answers each request with its first token id, and stumbles over two of them as a real model would."""

    no_memory: Exception = RuntimeError(NO_MEMORY[0])

    def __init__(self) -> None:
        self.num_batches = 0
        self.prefixes = PrefixCache(0)
        self.heads = defaultdict(OneRow)
        self.num_freed = 0
        self.max_tokens = 10**9
        self.is_device_broken = False

    def encode(self, media: Media, slot: PixelSlot) -> Any:
        if slot.start == POISON:
            raise RuntimeError("poisoned image")
        return np.zeros(4)

    def write_features(self, features: Any, dtype: str) -> bytes | None:
        if dtype == "float16":
            return None
        if dtype == "bfloat16":
            raise RuntimeError("poisoned features")
        return features.tobytes()

    def check_alive(self) -> None:
        if self.is_device_broken:
            raise RuntimeError("the device is lost")

    def free_memory(self) -> None:
        self.num_freed += 1

    def embed(self, batch: list[Any]) -> torch.Tensor:
        self.num_batches += 1
        first = [waiting.request.plan.ids[0] for waiting in batch]
        if len(batch) > self.max_tokens:
            raise self.no_memory
        if POISON in first:
            raise RuntimeError("poisoned batch")
        if SPOILING in first:  # NaN, in rows that others of the batch share
            return torch.full((len(first),), NOT_FINITE)
        return torch.tensor(first)

    def of(self, raw: torch.Tensor, prompts: Sequence[int]) -> torch.Tensor:
        return raw[list(prompts)]

    def finish(self, raw: torch.Tensor, requests: list[Request]) -> Any:
        if any(request.asks == (UNFINISHED,) for request in requests):
            raise RuntimeError("a kernel that does not know this length")
        return [self._row(int(first), request) for first, request in zip(raw, requests, strict=True)]

    def to_keep(self, raw: torch.Tensor) -> list[bytes | None]:
        return [None if first == NOT_FINITE else int(first).to_bytes(2, "big") for first in raw]

    def kept(self, vectors: list[bytes]) -> torch.Tensor:
        return torch.tensor([int.from_bytes(vector, "big") for vector in vectors])

    def _row(self, first: int, request: Request) -> dict[str, bytes] | None:
        (ask,) = request.asks
        assert isinstance(ask, DenseAsk)
        dtypes, dimensions = ask.output_dtypes, ask.dimensions - (first == SHORT)
        if first == NOT_FINITE or "float16" in dtypes:  # as if the raw vector were more than float16 can hold
            return None
        return {dtype: bytes([first % 256]) * (dimensions * NUM_BITS[dtype] // 8) for dtype in dtypes}
