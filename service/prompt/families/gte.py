"""GTE of 2024 in its native form: gte-base-en-v1.5, gte-multilingual-base, Arctic Embed M 2.0."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(("gte",), "GTE v1.5 and gte-multilingual", partial(make_text_profile, name="gte"))
