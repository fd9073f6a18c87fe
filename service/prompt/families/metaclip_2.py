"""MetaCLIP 2: CLIP's towers, and a tokenizer of many languages."""

from dataclasses import replace

from service.prompt.families.clip import FAMILY as CLIP
from service.prompt.families.clip import make_clip_profile

FAMILY = replace(
    CLIP,
    model_types=("metaclip_2",),
    about="MetaCLIP 2",
    make_profile=lambda files: make_clip_profile(files, "metaclip-2"),
    stock="MetaClip2Model",
    pooling="CLIP's",
    tests=("tests/models/two_tower/",),
)
