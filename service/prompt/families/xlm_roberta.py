"""XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 (its dense vector), all-distilroberta."""

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

PADDING = 1
"""Number of the padding token where config.json does not say."""


def make_profile(files: CheckpointFiles) -> Profile:
    """Positions start behind the number of the padding token, as fairseq counts: 512 tokens need 514 positions."""
    padding = files.config.get("pad_token_id", PADDING)
    first = padding + 1 if isinstance(padding, int) else PADDING + 1
    return make_text_profile(files, name="xlm_roberta", first_position=first)


FAMILY = text_family(
    ("xlm-roberta", "roberta"),
    "XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 dense",
    stock="XLMRobertaModel, RobertaModel",
    make_profile=make_profile,
)
