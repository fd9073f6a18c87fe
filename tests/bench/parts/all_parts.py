"""Every part by what it is about, in the order of the report."""

from tests.bench.parts import (
    answers,
    cpu,
    instructions,
    minilm,
    pairs,
    peer,
    peer_score,
    rerank,
    short,
    static,
    text,
    tower,
)
from tests.bench.parts.part import Part

GROUPS = {
    "text": ("text", "minilm", "pairs", "static"),
    "short": ("short", "cpu"),
    "rerank": ("rerank",),
    "instructions": ("instructions",),
    "tower": ("tower",),
    "answers": ("answers",),
    "peer": ("peer", "peer_score"),
}
"""Names for `--only`."""
PARTS: dict[str, Part] = {
    module.PART.name: module.PART
    for module in (text, minilm, pairs, static, short, cpu, rerank, instructions, tower, answers, peer, peer_score)
}
