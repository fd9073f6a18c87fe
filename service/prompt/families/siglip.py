"""SigLIP: texts are padded to their full length, the padding is attended to, and the last token is projected.

SigLIP 2 has these towers and Gemma's tokenizer, for texts in lower case. Its checkpoints of one resolution call
themselves `siglip`, too; what tells them apart is the tokenizer. NaFlex checkpoints, which keep an image's shape, call
themselves `siglip2`.

Source: google-research/big_vision#187, transformers 5.23 `Siglip2Tokenizer`.
"""

import re
import string
from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles, positive
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import (
    is_class,
    make_tower_profile,
    naflex_rule,
    section,
    shared_width,
    square_rule,
)
from service.prompt.templates.single_item import SingleItem

TEXT = {"vocab_size": 32_000, "hidden_size": 768, "max_position_embeddings": 64}
VISION = {"hidden_size": 768, "image_size": 224}
NAFLEX_VISION = {"hidden_size": 768, "patch_size": 16}
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def canonical(text: str) -> str:
    """Lower case, no ASCII punctuation, one blank for all white space between words and none around them.

    Where tokenizer.json does the same nothing more happens.

    Source: transformers 5.23 `SiglipTokenizer.canonicalize_text`; google-research/big_vision at 3b8e5ab.
    """
    return re.sub(r"\s+", " ", text.lower().translate(NO_PUNCTUATION)).strip()


def make_siglip(files: CheckpointFiles) -> Profile:
    """Padded; texts made canonical where the tokenizer is SigLIP's own."""
    text, vision = section(files, "text_config", TEXT), section(files, "vision_config", VISION)
    return make_tower_profile(
        files,
        name="siglip",
        dimensions=shared_width(text, vision),
        text=text,
        rule=square_rule(files, positive(vision, "image_size")),
        is_padded=True,
        layout=SingleItem(canonical) if is_class(files, "SiglipTokenizer") else SingleItem(),
    )


def make_siglip2(files: CheckpointFiles) -> Profile:
    """Padded, in lower case."""
    if files.model_type == "siglip":
        return replace(make_siglip(files), name="siglip2", lower_case=True)
    text, vision = section(files, "text_config", TEXT), section(files, "vision_config", NAFLEX_VISION)
    return make_tower_profile(
        files,
        name="siglip2-naflex",
        dimensions=shared_width(text, vision),
        text=text,
        rule=naflex_rule(files, positive(vision, "patch_size")),
        is_padded=True,
        lower_case=True,
    )


def is_siglip2(files: CheckpointFiles) -> bool:
    """Tell SigLIP 2 from SigLIP."""
    return files.model_type == "siglip2" or is_class(files, "GemmaTokenizer", "Siglip2Tokenizer")


SIGLIP = Family(
    model_types=("siglip",),
    about="SigLIP",
    make_profile=make_siglip,
    kind="two towers",
    stock="SiglipModel",
    modalities="text or image",
    pooling="last of 64 padded tokens; image: attention",
    prompt="padded, canonical",
    tests=("tests/models/two_tower/",),
)

FAMILIES = {
    "siglip": SIGLIP,
    "siglip2": replace(
        SIGLIP,
        model_types=("siglip", "siglip2"),
        about="SigLIP 2, also NaFlex",
        make_profile=make_siglip2,
        is_of=is_siglip2,
        rank=1,
        stock="SiglipModel with Gemma's tokenizer; NaFlex: Siglip2Model",
        pooling="SigLIP's",
        prompt="padded, lower case",
        tests=("tests/models/two_tower/", "tests/journey/test_two_towers.py"),
    ),
}
