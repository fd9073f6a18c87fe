"""EmbeddingGemma: Gemma 3 made bidirectional, the mean of all tokens, two Dense modules."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

MATRYOSHKA = (128, 256, 512)
"""Lengths of the model card below the full 768."""

FAMILY = Family(
    ("gemma3_text",),
    "EmbeddingGemma 300M",
    partial(make_text_profile, name="embeddinggemma", matryoshka=MATRYOSHKA),
)
