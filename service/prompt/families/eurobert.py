"""EuroBERT: a bidirectional encoder in Llama's shape, long texts in many languages."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(("eurobert",), "EuroBERT", partial(make_text_profile, name="eurobert"))
