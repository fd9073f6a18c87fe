"""EuroBERT: a bidirectional encoder in Llama's shape, long texts in many languages."""

from service.prompt.profile.text_profile import make_text_profile, text_family

FAMILY = text_family(
    ("eurobert",),
    "EuroBERT",
    stock="EuroBertModel",
    make_profile=lambda files: make_text_profile(files, name="eurobert"),
)
