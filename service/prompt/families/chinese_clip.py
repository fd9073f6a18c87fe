"""Chinese-CLIP: a BERT reads texts, and its first token is projected."""

from dataclasses import replace

from service.prompt.families.clip import FAMILY as CLIP
from service.prompt.families.clip import make_clip_profile

TEXT = {"vocab_size": 30_522, "max_position_embeddings": 512}

FAMILY = replace(
    CLIP,
    model_types=("chinese_clip",),
    about="Chinese-CLIP",
    make_profile=lambda files: make_clip_profile(files, "chinese-clip", TEXT, pooling="cls"),
    stock="ChineseCLIPModel",
    pooling="CLS, projected",
    tests=("tests/models/two_tower/",),
)
