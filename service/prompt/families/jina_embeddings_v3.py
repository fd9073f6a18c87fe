"""Jina Embeddings v3 in its native form; a checkpoint has the adapter of one task merged."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("jina_embeddings_v3",),
    "Jina Embeddings v3, adapters merged",
    stock="JinaEmbeddingsV3Model",
    make_profile=lambda files: make_text_profile(files, name="jina-embeddings-v3"),
    pooling="mean",
)
