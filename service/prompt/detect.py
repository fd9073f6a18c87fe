"""Which family a checkpoint is of. In: a folder. Out: its profile, or an error that lists what is supported."""

from pathlib import Path

from service.prompt.checkpoint_files import CheckpointFiles
from service.prompt.families import BY_NAME, FAMILIES
from service.prompt.family import Family
from service.prompt.profile import Profile, UnsupportedModelError


def load_profile(folder: Path, name: str | None = None) -> Profile:
    """Choose the family of a checkpoint and fill its profile with the checkpoint's numbers.

    The family that was named is taken; else the one that `cenote.family` of config.json names; else the best of those
    that the files fit. Of a model type that several families share, one is never guessed.

    Args:
        folder: holds config.json and tokenizer.json.
        name: of a page of `families/`; None asks the files.

    Raises:
        UnsupportedModelError: the family is unknown, or the files are missing, damaged or in disagreement.

    Source: reference/qwen3-vl-embedding.md section 7.
    """
    files = CheckpointFiles(folder)
    named = name or files.own.get("family")
    family = _choose(files) if named is None else _named(files, named)
    return family.make_profile(files)


def _named(files: CheckpointFiles, name: object) -> Family:
    if not isinstance(name, str) or name not in BY_NAME:
        raise UnsupportedModelError(f"the family {name!r} is unknown; known: {', '.join(sorted(BY_NAME))}")
    family = BY_NAME[name]
    if files.model_type not in family.model_types:
        raise UnsupportedModelError(
            f"{files.folder / 'config.json'} has model_type {files.model_type!r}; the family {name} is of "
            f"{', '.join(map(repr, family.model_types))}"
        )
    return family


def _choose(files: CheckpointFiles) -> Family:
    ofs = {name: family for name, family in BY_NAME.items() if files.model_type in family.model_types}
    fitting = [family for family in ofs.values() if family.is_of(files)]
    if fitting:
        return max(fitting, key=lambda family: family.rank)
    where = f"{files.folder / 'config.json'} has model_type {files.model_type!r}"
    if ofs:
        choices = "; ".join(f"{name} ({family.about})" for name, family in sorted(ofs.items()))
        raise UnsupportedModelError(
            f"{where}, which several embedders share, and nothing in the files says which this is. Say so with "
            f"`--family`, or `cenote.family` of config.json: {choices}"
        )
    known = "; ".join(sorted(f"{', '.join(map(repr, family.model_types))} ({family.about})" for family in FAMILIES))
    raise UnsupportedModelError(f"{where}; supported: {known}. service/prompt/README.md says how to add a family")
