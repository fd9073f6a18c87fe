"""Which family a checkpoint is of. In: a folder. Out: its profile, or an error that lists what is supported."""

from pathlib import Path

from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.families import FAMILIES
from service.prompt.profile import Profile, UnsupportedModelError


def load_profile(folder: Path) -> Profile:
    """Choose the family of a checkpoint and fill its profile with the checkpoint's numbers.

    Args:
        folder: holds config.json and tokenizer.json.

    Raises:
        UnsupportedModelError: the family is unknown, or the files are missing, damaged or in disagreement.

    Source: reference/qwen3-vl-embedding.md section 7.
    """
    files = CheckpointFiles(folder)
    model_type = files.model_type
    fitting = [family for family in FAMILIES if model_type in family.model_types and family.is_of(files)]
    if not fitting:
        known = "; ".join(sorted(f"{', '.join(map(repr, family.model_types))} ({family.about})" for family in FAMILIES))
        raise UnsupportedModelError(
            f"{folder / 'config.json'} has model_type {model_type!r}; supported: {known}. "
            "service/prompt/README.md says how to add a family"
        )
    return max(fitting, key=lambda family: family.rank).make_profile(files)
