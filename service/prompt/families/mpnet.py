"""MPNet: all-mpnet-base-v2 and its likes. Its attention adds relative positions, so it runs by equal lengths."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FIRST_POSITION = 2
"""Positions 0 and 1 are of padding, as in RoBERTa."""

FAMILY = Family(
    ("mpnet",),
    "MPNet: all-mpnet-base-v2 and its likes",
    partial(make_text_profile, name="mpnet", first_position=FIRST_POSITION),
)
