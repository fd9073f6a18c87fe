"""MPNet: all-mpnet-base-v2. Its attention adds relative positions, so it runs by equal lengths."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FIRST_POSITION = 2
"""Positions 0 and 1 are of padding, as in RoBERTa."""

FAMILY = text_family(
    ("mpnet",),
    "MPNet: all-mpnet-base-v2 and similar",
    stock="MPNetModel",
    make_profile=lambda files: make_text_profile(files, name="mpnet", first_position=FIRST_POSITION),
    pooling="mean, by its files",
)
