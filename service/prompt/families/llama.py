"""Llama as an encoder (`is_causal` false in config.json, as in Llama-Nemotron-Embed), or causal."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("llama",),
    "Llama-type embedders, bidirectional (is_causal false) or causal",
    stock="LlamaModel",
    make_profile=lambda files: make_text_profile(files, name="llama"),
    pooling="mean or last token, by its files",
)
