"""XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 (its dense vector), all-distilroberta."""

from service.checkpoint.config_files import CheckpointFiles
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

PADDING = 1
"""Number of the padding token where config.json does not say."""


TYPES = ("xlm-roberta", "roberta")


def first_position(files: CheckpointFiles) -> int:
    """Number of a text's first position: behind that of the padding token, as fairseq counts; of other models 0.

    512 tokens need 514 positions.
    """
    if files.model_type not in TYPES:
        return 0
    padding = files.config.get("pad_token_id", PADDING)
    return padding + 1 if isinstance(padding, int) else PADDING + 1


def make_profile(files: CheckpointFiles) -> Profile:
    """See `make_text_profile`."""
    return make_text_profile(files, name="xlm_roberta", first_position=first_position(files))


FAMILY = text_family(
    TYPES,
    "XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 dense",
    stock="XLMRobertaModel, RobertaModel",
    make_profile=make_profile,
)
