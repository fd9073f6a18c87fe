"""SigLIP 2: SigLIP's towers and Gemma's tokenizer, for texts in lower case.

Checkpoints of one resolution call themselves `siglip`, as their towers are; what tells them apart is the tokenizer.
NaFlex checkpoints, which keep an image's shape, call themselves `siglip2`.

Source: google-research/big_vision#187, transformers 5.23 `Siglip2Tokenizer`.
"""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.prompt.families.siglip import TEXT
from service.prompt.families.siglip import make_profile as make_siglip_profile
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import is_class, make_tower_profile, naflex_rule, section, shared_width

VISION = {"hidden_size": 768, "patch_size": 16}


def make_profile(files: CheckpointFiles) -> Profile:
    """Padded, in lower case."""
    if files.model_type == "siglip":
        return replace(make_siglip_profile(files), name="siglip2", lower_case=True)
    text, vision = section(files, "text_config", TEXT), section(files, "vision_config", VISION)
    return make_tower_profile(
        files,
        name="siglip2-naflex",
        dimensions=shared_width(text, vision),
        text=text,
        rule=naflex_rule(files, positive(vision, "patch_size")),
        is_padded=True,
        lower_case=True,
    )


def is_of(files: CheckpointFiles) -> bool:
    """Tell SigLIP 2 from SigLIP."""
    return files.model_type == "siglip2" or is_class(files, "GemmaTokenizer", "Siglip2Tokenizer")


FAMILY = Family(
    model_types=("siglip", "siglip2"),
    about="SigLIP 2, also NaFlex",
    make_profile=make_profile,
    is_of=is_of,
    rank=1,
    kind="two towers",
    stock="SiglipModel with Gemma's tokenizer; NaFlex: Siglip2Model",
    modalities="text or image",
    pooling="SigLIP's",
    prompt="padded, lower case",
    tests=("tests/models/two_tower/", "tests/journey/test_two_towers.py"),
)
