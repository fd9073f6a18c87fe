"""XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 with all of its vectors, all-distilroberta."""

from dataclasses import replace

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.token_heads import find_heads
from service.prompt.profile.profile import Profile
from service.prompt.profile.text_profile import make_text_profile, text_family

TYPES = ("xlm-roberta", "roberta")
PADDING = 1
"""Number of the padding token where config.json does not say."""


def first_position(files: CheckpointFiles) -> int:
    """Number of a text's first position: after that of the padding token, as fairseq counts; of other models 0.

    512 tokens need 514 positions.
    """
    if files.model_type not in TYPES:
        return 0
    padding = files.config.get("pad_token_id", PADDING)
    return padding + 1 if isinstance(padding, int) else PADDING + 1


def make_profile(files: CheckpointFiles) -> Profile:
    """See `make_text_profile`; with BGE-M3's heads beside it, it gives sparse and token vectors too.

    Raises:
        CheckpointError: there are heads, and vectors are not as wide as the model.
    """
    profile = make_text_profile(files, name="xlm_roberta", first_position=first_position(files))
    if not (heads := find_heads(files.folder)):
        return profile
    if profile.dimensions != files.config["hidden_size"]:
        raise CheckpointError(
            f"{files.folder} has {', '.join(path.name for path in heads.values())} and vectors of {profile.dimensions} "
            f"numbers; supported with heads for tokens: {files.config['hidden_size']}, the model's own width"
        )
    return replace(profile, architecture="hybrid", token_heads=tuple(heads))


FAMILIES = {
    "xlm_roberta": text_family(
        TYPES,
        "XLM-RoBERTa and RoBERTa: multilingual E5, BGE-M3 with sparse and token vectors",
        stock="XLMRobertaModel, RobertaModel",
        make_profile=make_profile,
        more_tests=("tests/models/hybrid/",),
    )
}
