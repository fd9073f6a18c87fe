"""GTE of 2024 in its native form: gte-base-en-v1.5, gte-multilingual-base, Arctic Embed M 2.0."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("gte",),
    "GTE v1.5 and gte-multilingual",
    stock="GteModel",
    make_profile=lambda files: make_text_profile(files, name="gte"),
    pooling="CLS",
)
