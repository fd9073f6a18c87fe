"""Mistral as an embedder: E5-Mistral, SFR-Embedding, Linq-Embed. Causal, the last token is pooled."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("mistral",),
    "Mistral-type embedders: E5-Mistral",
    stock="MistralModel",
    make_profile=lambda files: make_text_profile(files, name="mistral"),
    pooling="last token",
    prompt="`Instruct: {instruction}\\nQuery: `; documents bare",
)
