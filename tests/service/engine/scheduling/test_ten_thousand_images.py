"""Ten thousand distinct images through the engine's loop, features being real tensors: the cache ends at its cap."""

import random
from typing import Any

import torch

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.scheduling.scheduler import Scheduler
from service.engine.shared_tiers.host_pages import HostPages
from service.ipc.messages import Media, PixelSlot
from tests.builders import engine_request
from tests.service.engine.loop_rig import LoopRig
from tests.service.engine.troubled_runner import TroubledRunner

NUM_IMAGES = 10_000
WIDTH = 64
MAX_BYTES, MAX_HOST_BYTES = 200_000, 1 << 19
HOT = range(50)
"""Images that come back all the time."""


class TensorRunner(TroubledRunner):
    """Makes features out of where the pixels lie, so that each image has its own and a mix-up shows."""

    def __init__(self) -> None:
        super().__init__()
        self.num_encoded = 0

    def encode(self, media: Media, slot: PixelSlot) -> torch.Tensor:
        self.num_encoded += 1
        return torch.full((media.grid_thw[1] * media.grid_thw[2] // 4, WIDTH), float(slot.start))

    def embed(self, batch: list[Any]) -> torch.Tensor:
        for waiting in batch:
            for media, features in zip(waiting.request.media, waiting.features, strict=True):
                assert features.shape == (media.num_tokens, WIDTH)
                assert bool((features == float(int.from_bytes(media.key, "little"))).all()), "another image's features"
        return torch.zeros(len(batch), 8)

    def finish(self, raw: torch.Tensor, requests: list[Any]) -> list[dict[str, bytes]]:
        assert len(raw) == len(requests)
        return [{"float32": bytes(32)} for _ in requests]


def media(number: int) -> Media:
    side = 2 * (1 + number % 4)
    return Media(
        key=number.to_bytes(32, "little"),
        grid_thw=(1, side, side),
        offset=0,
        num_tokens=side * side // 4,
        slot=PixelSlot(number, 1),
    )


def test_ten_thousand_distinct_images_leave_both_tiers_at_their_caps_and_never_above() -> None:
    pages = HostPages(MAX_HOST_BYTES, torch.device("cpu"), page_bytes=1 << 12)
    cache: EncoderCache[torch.Tensor] = EncoderCache(MAX_BYTES, host_memory=pages, max_host_bytes=pages.max_bytes)
    scheduler: Scheduler[torch.Tensor] = Scheduler(
        cache, max_batch_tokens=512, max_batch_requests=64, max_encoder_tokens=256
    )
    rig = LoopRig(scheduler, TensorRunner())
    draw, most, released = random.Random(2), 0, 0
    for first in range(0, NUM_IMAGES, 20):
        on_host = [int.from_bytes(key, "little") for key in list(cache.host.entries)[:1]]
        numbers = [*range(first, first + 20), *draw.choices(HOT, k=5), *on_host]
        rig.submit(
            *[engine_request(25 * first + place, [0] * 16, media(number)) for place, number in enumerate(numbers)]
        )
        num_answered = 0
        while num_answered < len(numbers):
            rig.sent.clear()
            rig.turn()
            num_answered += len(rig.answered)
            released += sum(len(step.released) for step in rig.steps)
            held = sum(entry.kept.untyped_storage().nbytes() for entry in cache.device.entries.values())
            most = max(most, held)
            assert held == cache.device.num_bytes <= MAX_BYTES
            assert cache.host.num_bytes <= pages.num_taken_bytes <= MAX_HOST_BYTES
    assert most > 0.95 * MAX_BYTES
    assert cache.host.num_bytes > 0.95 * MAX_HOST_BYTES
    assert cache.host.num_hits > 100
    assert all(media(number).key in cache for number in HOT)  # the scan has flushed none of them
    assert NUM_IMAGES <= rig.runner.num_encoded < NUM_IMAGES + 2 * len(HOT)
    assert released >= NUM_IMAGES
