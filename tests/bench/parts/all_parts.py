"""Every part, in the order of the report."""

from tests.bench.parts import (
    answers,
    batch_size,
    concurrency,
    cpu,
    distinct,
    fronts,
    hit_rate,
    image_size,
    instructions,
    minilm,
    peer,
    peer_score,
    prefixes,
    rerank,
    short,
    small_tower,
    splade,
    text,
    tokens,
    tower,
    traffic,
    unique_images,
)
from tests.bench.parts.part import Part

PARTS: dict[str, Part] = {
    module.PART.name: module.PART
    for module in (
        text, short, prefixes, rerank, instructions, tower, small_tower, tokens, distinct, unique_images, traffic,
        answers, cpu, fronts, minilm, splade, peer, peer_score, batch_size, concurrency, image_size, hit_rate,
    )
}  # fmt: skip
