"""CLIP: OpenAI's, LAION's and similar models in transformers' form; MetaCLIP 2 and Chinese-CLIP."""

from collections.abc import Mapping
from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.checkpoint.sentence_files import Pooling
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import make_tower_profile, projection, section, square_rule

TEXT = {"vocab_size": 49_408, "max_position_embeddings": 77}
CHINESE_TEXT = {"vocab_size": 30_522, "max_position_embeddings": 512}
"""A BERT reads the texts of Chinese-CLIP, and its first token is projected."""
VISION = {"image_size": 224}


def make_clip_profile(
    files: CheckpointFiles, name: str, text: Mapping[str, object] = TEXT, *, pooling: Pooling = "last_token"
) -> Profile:
    """The profile of CLIP's towers, or of likes with another text tower; nothing is padded."""
    side = positive(section(files, "vision_config", VISION), "image_size")
    return make_tower_profile(
        files,
        name=name,
        dimensions=projection(files),
        text=section(files, "text_config", text),
        rule=square_rule(files, side),
        pooling=pooling,
    )


CLIP = Family(
    model_types=("clip",),
    about="CLIP",
    make_profile=lambda files: make_clip_profile(files, "clip"),
    kind="two towers",
    stock="CLIPModel",
    modalities="text or image",
    pooling="end token, projected; image: CLS, projected",
    prompt="bare",
    tests=("tests/models/two_tower/", "tests/journey/test_two_towers.py"),
)

FAMILIES = {
    "clip": CLIP,
    "metaclip_2": replace(  # a tokenizer of many languages
        CLIP,
        model_types=("metaclip_2",),
        about="MetaCLIP 2",
        make_profile=lambda files: make_clip_profile(files, "metaclip-2"),
        stock="MetaClip2Model",
        pooling="CLIP's",
        tests=("tests/models/two_tower/",),
    ),
    "chinese_clip": replace(
        CLIP,
        model_types=("chinese_clip",),
        about="Chinese-CLIP",
        make_profile=lambda files: make_clip_profile(files, "chinese-clip", CHINESE_TEXT, pooling="cls"),
        stock="ChineseCLIPModel",
        pooling="CLS, projected",
        tests=("tests/models/two_tower/",),
    ),
}
