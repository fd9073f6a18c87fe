"""DistilBERT: multi-qa-distilbert, msmarco-distilbert."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("distilbert",),
    "DistilBERT: multi-qa-distilbert and similar",
    stock="DistilBertModel",
    make_profile=lambda files: make_text_profile(files, name="distilbert", width="dim"),
)
