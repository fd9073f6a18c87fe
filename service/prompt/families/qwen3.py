"""Qwen3-Embedding 0.6B, 4B and 8B: causal, the last token is pooled, documents stand bare, queries name a task."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

MIN_DIMENSIONS = 32
"""Shortest matryoshka prefix of the model card."""

FAMILY = Family(
    ("qwen3",),
    "Qwen3-Embedding 0.6B, 4B and 8B, and fine-tunes of them",
    partial(make_text_profile, name="qwen3-embedding", min_dimensions=MIN_DIMENSIONS),
)
