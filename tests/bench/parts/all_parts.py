"""Every part by what it is about, in the order of the report."""

from tests.bench.parts import (
    answers,
    cpu,
    distinct,
    fronts,
    instructions,
    minilm,
    peer,
    peer_score,
    rerank,
    short,
    splade,
    text,
    tokens,
    tower,
    traffic,
)
from tests.bench.parts.part import Part

GROUPS = {
    "text": ("text", "tokens", "traffic", "minilm", "splade"),
    "short": ("short", "cpu", "fronts"),
    "rerank": ("rerank",),
    "instructions": ("instructions", "distinct"),
    "tower": ("tower",),
    "answers": ("answers",),
    "peer": ("peer", "peer_score"),
}
"""Names for `--only`."""
PARTS: dict[str, Part] = {
    module.PART.name: module.PART
    for module in (
        text, tokens, traffic, minilm, splade, short, cpu, fronts, rerank, instructions, distinct, tower, answers,
        peer, peer_score,
    )
}  # fmt: skip
