"""DistilBERT: multi-qa-distilbert, msmarco-distilbert and their likes."""

from functools import partial

from service.prompt.family import Family
from service.prompt.text_profile import make_text_profile

FAMILY = Family(
    ("distilbert",),
    "DistilBERT: multi-qa-distilbert and its likes",
    partial(make_text_profile, name="distilbert", width="dim"),
)
