"""CLIP: OpenAI's, LAION's and their likes in transformers' form."""

from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.tower_profile import make_tower_profile, projection, section
from service.prompt.tower_rules import square_rule

TEXT = {"vocab_size": 49_408, "max_position_embeddings": 77}
VISION = {"image_size": 224}


def make_profile(files: CheckpointFiles) -> Profile:
    """Texts end in the token that is pooled; nothing is padded."""
    side = positive(section(files, "vision_config", VISION), "image_size")
    return make_tower_profile(
        files,
        name="clip",
        dimensions=projection(files),
        text=section(files, "text_config", TEXT),
        rule=square_rule(files, side),
    )


FAMILY = Family(("clip",), "CLIP", make_profile)
