"""Llama made an encoder: `is_causal` false in config.json, as in Llama-Nemotron-Embed; or a causal one."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(
    ("llama",),
    "Llama-type embedders, bidirectional (is_causal false) or causal",
    partial(make_text_profile, name="llama"),
)
