"""Jina Embeddings v3 in its native form. A checkpoint has the adapter of one task merged in; none is chosen here."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(
    ("jina_embeddings_v3",),
    "Jina Embeddings v3, adapters merged",
    partial(make_text_profile, name="jina-embeddings-v3"),
)
