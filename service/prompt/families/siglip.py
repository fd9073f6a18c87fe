"""SigLIP: texts are padded to their full length, the padding is attended to, and the last token is projected."""

from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.family import Family
from service.prompt.preprocessor_file import square_rule
from service.prompt.profile import Profile
from service.prompt.tower_profile import make_tower_profile, section, shared_width

TEXT = {"vocab_size": 32_000, "hidden_size": 768, "max_position_embeddings": 64}
VISION = {"hidden_size": 768, "image_size": 224}


def make_profile(files: CheckpointFiles) -> Profile:
    """Padded."""
    text, vision = section(files, "text_config", TEXT), section(files, "vision_config", VISION)
    return make_tower_profile(
        files,
        name="siglip",
        dimensions=shared_width(text, vision),
        text=text,
        rule=square_rule(files, positive(vision, "image_size")),
        is_padded=True,
    )


FAMILY = Family(("siglip",), "SigLIP", make_profile)
