"""Chinese-CLIP: a BERT reads texts, and its first token is projected."""

from service.prompt.checkpoint_files import CheckpointFiles, positive
from service.prompt.family import Family
from service.prompt.profile import Profile
from service.prompt.tower_profile import make_tower_profile, projection, section
from service.prompt.tower_rules import square_rule

TEXT = {"vocab_size": 30_522, "max_position_embeddings": 512}
VISION = {"image_size": 224}


def make_profile(files: CheckpointFiles) -> Profile:
    """Nothing is padded."""
    side = positive(section(files, "vision_config", VISION), "image_size")
    return make_tower_profile(
        files,
        name="chinese-clip",
        dimensions=projection(files),
        text=section(files, "text_config", TEXT),
        rule=square_rule(files, side),
        pooling="cls",
    )


FAMILY = Family(("chinese_clip",), "Chinese-CLIP", make_profile)
