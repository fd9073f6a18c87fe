"""SigLIP: texts are padded to their full length, the padding is attended to, and the last token is projected."""

import re
import string

from service.checkpoint.config_files import CheckpointFiles, positive
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile
from service.prompt.profile.tower_profile import is_class, make_tower_profile, section, shared_width, square_rule
from service.prompt.templates.single_item import SingleItem

TEXT = {"vocab_size": 32_000, "hidden_size": 768, "max_position_embeddings": 64}
VISION = {"hidden_size": 768, "image_size": 224}
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def canonical(text: str) -> str:
    """Lower case, no ASCII punctuation, one blank for all white space between words and none around them.

    Where tokenizer.json does the same nothing more happens.

    Source: transformers 5.23 `SiglipTokenizer.canonicalize_text`; google-research/big_vision at 3b8e5ab.
    """
    return re.sub(r"\s+", " ", text.lower().translate(NO_PUNCTUATION)).strip()


def make_profile(files: CheckpointFiles) -> Profile:
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


FAMILY = Family(
    model_types=("siglip",),
    about="SigLIP",
    make_profile=make_profile,
    kind="two towers",
    stock="SiglipModel",
    modalities="text or image",
    pooling="last of 64 padded tokens; image: attention",
    prompt="padded, canonical",
    tests=("tests/models/two_tower/",),
)
