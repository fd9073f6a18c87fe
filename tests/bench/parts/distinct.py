"""Thousands of images that are all different: the encoder cache fills to its cap and stays there."""

from tests.bench.figure import Bar, Figure, Measured, exactly
from tests.bench.memory import MIB, MemoryWatch, within_budget
from tests.bench.parts.part import Part
from tests.bench.sides.service import Service
from tests.bench.stage import Stage
from tests.bench.work import Work, image_body
from tests.conftest import image

SEED = 500_000
PER_REQUEST = 20
PX = 64
CAP_BYTES = 16 * MIB
ARENA_BYTES = 16 * MIB


def run(stage: Stage) -> Measured:
    """The most that cache and processes took, against the cap and against what the settings allow."""
    flags = {"encoder-cache-bytes": CAP_BYTES, "pixel-arena-bytes": ARENA_BYTES, "media-store-bytes": 0}
    service = stage.serve("distinct", *(word for name, value in flags.items() for word in (f"--{name}", str(value))))
    num_requests = stage.scale.num_distinct // PER_REQUEST
    memory = MemoryWatch(service.server, "cenote_encoder_cache_bytes")
    with memory:
        for number in range(num_requests):
            _ask(service, number)
    encoded = service.server.metric("cenote_vision_encodes_total")
    num = num_requests * PER_REQUEST
    evicted = service.server.metric("cenote_encoder_cache_evictions_total")
    notes = [f"{num:,} different images, {encoded:,.0f} runs of the tower, {evicted:,.0f} evictions"]
    words = "memory while these are sent, of what the settings allow"
    resident = within_budget("distinct_memory", words, memory, stage.checkpoint, CAP_BYTES, ARENA_BYTES)
    return Measured([_cache(memory, notes), resident])


def _ask(service: Service, number: int) -> None:
    first = SEED + number * PER_REQUEST
    images = [image(seed, PX, PX) for seed in range(first, first + PER_REQUEST)]
    service.prepare("distinct", Work([image_body(images)]))
    service.run("distinct")


def _cache(memory: MemoryWatch, notes: list[str]) -> Figure:
    notes = [f"{memory.max_gauge / MIB:.2f} MiB at most, cap {CAP_BYTES / MIB:.0f} MiB", *notes]
    words = "bytes of the encoder cache at most, of its cap"
    return Figure("cache_cap", words, exactly(memory.max_gauge / CAP_BYTES), "×", Bar("≤", 1.0), 1, notes)


PART = Part("distinct", "10,000 different images (built-in model)", run, model="builtin")
