"""ModernBERT: gte-modernbert, Nomic Embed on ModernBERT, Granite embedding R2. Most layers see a window only."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(
    ("modernbert",),
    "ModernBERT: gte-modernbert, modernbert-embed and their likes",
    partial(make_text_profile, name="modernbert"),
)
