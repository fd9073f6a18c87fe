"""MetaCLIP 2: CLIP's towers, and a tokenizer of many languages."""

from dataclasses import replace

from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.families.clip import make_profile as make_clip_profile
from service.prompt.family import Family
from service.prompt.profile import Profile


def make_profile(files: CheckpointFiles) -> Profile:
    """As CLIP's."""
    return replace(make_clip_profile(files), name="metaclip-2")


FAMILY = Family(("metaclip_2",), "MetaCLIP 2", make_profile)
