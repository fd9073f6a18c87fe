"""Mistral made an embedder: E5-Mistral, SFR-Embedding, Linq-Embed. Causal, the last token is pooled."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(("mistral",), "Mistral-type embedders: E5-Mistral", partial(make_text_profile, name="mistral"))
