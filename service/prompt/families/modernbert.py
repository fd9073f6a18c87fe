"""ModernBERT: gte-modernbert, Nomic Embed on ModernBERT, Granite embedding R2. Most layers attend in a window."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("modernbert",),
    "ModernBERT: gte-modernbert, modernbert-embed and similar",
    stock="ModernBertModel",
    make_profile=lambda files: make_text_profile(files, name="modernbert"),
)
