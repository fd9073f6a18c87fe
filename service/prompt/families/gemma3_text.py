"""EmbeddingGemma: Gemma 3 made bidirectional, the mean of all tokens, two Dense modules."""

from service.prompt.profile.text_profile import make_text_profile, text_family

MATRYOSHKA = (128, 256, 512)
"""Lengths of the model card below the full 768."""

FAMILY = text_family(
    ("gemma3_text",),
    "EmbeddingGemma 300M",
    stock="Gemma3TextModel",
    make_profile=lambda files: make_text_profile(files, name="embeddinggemma", matryoshka=MATRYOSHKA),
    pooling="mean, two Dense",
)
