"""The limit: the product's own forward on prompts that are ready, packed as its scheduler packs them. No HTTP, no IPC.

`python -m tests.bench.sides.bare FOLDER THREADS`
"""

import mmap
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from service.engine.engine import Loading, load_weights, serve
from service.engine.scheduling.short_long_queue import ShortLongQueue
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.cpu_tuning import keep_cores
from service.front.engine_client.local_engine import start_message
from service.ipc.messages import Media, PixelSlot, Request
from service.settings.settings import Settings
from tests.bench.pipe import answer_forever
from tests.bench.prompts import PromptReader
from tests.bench.work import Work

PIXEL_BYTES = 256 << 20
"""Address space for the pixels of everything that is prepared; only what is written takes memory."""


@dataclass(slots=True)
class Ready:
    """Work that is prepared.

    Attributes:
        groups: requests that are under way together.
        kind: what is done in the time.
        features: of each image by its key, of the last time it was encoded.
        rows: what the last run gave.
    """

    groups: list[list[Request]]
    kind: str
    features: dict[bytes, torch.Tensor] = field(default_factory=dict)
    rows: list[bytes] = field(default_factory=list)


class BareForward:
    """`ModelRunner` called directly."""

    def __init__(self, folder: str, num_threads: int) -> None:
        self._settings = Settings(model=folder, dtype="float32", device="cpu", threads=num_threads)
        self._reader = PromptReader(self._settings)
        self._pixels = mmap.mmap(-1, PIXEL_BYTES)
        self._end = 0
        start = start_message(self._settings, self._reader.model, num_threads, 1)
        self._runner, _ = serve(Loading(start), memoryview(self._pixels), load_weights(start))
        keep_cores(num_threads)
        self._ready: dict[str, Ready] = {}

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        wanted = Work(**work)
        groups = [wanted.bodies[i : i + wanted.concurrency] for i in range(0, len(wanted.bodies), wanted.concurrency)]
        requests = [[one for body in group for one in self._reader.requests(body, self._store)] for group in groups]
        self._ready[label] = Ready(requests, wanted.kind)

    def run(self, label: str) -> float:
        ready, rows = self._ready[label], []
        began_s = time.perf_counter()
        for group in ready.groups:
            ready.features = {}
            self._encode(group, ready)
            if ready.kind != "tower":
                rows += self._embed(group, ready)
        seconds = time.perf_counter() - began_s
        ready.rows = rows or [tensor.numpy().tobytes() for tensor in ready.features.values()]
        return seconds

    def rows(self, label: str) -> Sequence[bytes]:
        return self._ready[label].rows

    def num_tokens(self, label: str) -> int:
        return sum(len(request.plan.ids) for group in self._ready[label].groups for request in group)

    def facts(self) -> dict[str, Any]:
        return {}

    def _store(self, pixels: bytes) -> PixelSlot:
        """Pixels one behind the other, from the start again when the end is reached: old work is not run again."""
        self._end = 0 if self._end + len(pixels) > PIXEL_BYTES else self._end
        slot = PixelSlot(self._end, len(pixels))
        self._pixels[slot.start : slot.start + slot.num_bytes] = pixels
        self._end += slot.num_bytes
        return slot

    def _encode(self, group: Sequence[Request], ready: Ready) -> None:
        for media in (media for request in group for media in request.media):
            if media.key not in ready.features:
                ready.features[media.key] = self._encoded(media)

    def _encoded(self, media: Media) -> torch.Tensor:
        assert media.slot is not None  # `prompts.py` gives every image its pixels
        return self._runner.encode(media, media.slot)

    def _embed(self, group: Sequence[Request], ready: Ready) -> list[bytes]:
        ready_queue: ShortLongQueue[torch.Tensor] = ShortLongQueue(
            self._settings.max_batch_tokens, self._settings.max_batch_requests
        )
        for request in group:
            ready_queue.add(Waiting(request, 0.0, [ready.features[media.key] for media in request.media]))
        rows: dict[int, bytes] = {}
        while ready_queue:
            batch = ready_queue.take_batch()
            finished = self._runner.finish(self._runner.embed(batch), [waiting.request for waiting in batch])
            for waiting, row in zip(batch, finished, strict=True):
                assert row is not None, "a vector is not finite"
                (rows[waiting.request.id],) = row.values()
        return [rows[request.id] for request in group]


if __name__ == "__main__":
    answer_forever(lambda: BareForward(sys.argv[1], int(sys.argv[2])))
