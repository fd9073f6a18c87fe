"""Finds the family of a checkpoint and makes its profile, or raises an error that lists what is supported."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from service.checkpoint.config_files import CheckpointFiles, check_ropes
from service.checkpoint.json_files import CheckpointError
from service.checkpoint.lora.adapter import JOINED
from service.checkpoint.reranker_kind import CLASSIFIER, Kind, module_kinds, reranker_kind, told
from service.checkpoint.sentence_files import check_names
from service.checkpoint.sentence_modules import refuse_further_modules
from service.checkpoint.sentence_settings import check_sizes
from service.checkpoint.unread_tensors import refuse_unknown_tensors
from service.checkpoint.weight_files import check_weights, list_weight_files, read_header
from service.media.resize.image_rule import PixelRule
from service.prompt.families import FAMILIES
from service.prompt.profile.family import Family
from service.prompt.profile.profile import Profile

TYPES = {
    name: "; ".join(family.about for family in FAMILIES.values() if name in family.model_types)
    for family in FAMILIES.values()
    for name in family.model_types
}
"""model_type of config.json to which models these are."""
OF_TEXT = (
    *("text_encoder", "projected", "hybrid", "colbert", "splade", "static", "embedding_gemma2", "qwen_omni"),
    *("modular_reranker", "mistral3", "mistral3_reranker"),
)
"""Architectures whose modules after the transformer are applied, or refused, as their profile is made."""
OF_PAGES = ("late_vlm", "late_paligemma", "late_idefics3")
"""Likewise, but for names."""
CLASSIFIER_HEAD = re.compile(r"(?:score|classifier|pre_classifier)\.")
"""Beginnings of its tensors' names."""


def load_profile(folder: Path, name: str = "") -> Profile:
    """Choose the family of a checkpoint and fill its profile with the checkpoint's numbers.

    The family that was named is taken; else the one that `cenote.family` of config.json names; else the best of those
    that the files fit. Of a model type that several families share, one is never guessed.

    Args:
        name: of a module of `families/`; empty: the files say.

    Raises:
        CheckpointError: the family is unknown; the files are missing, damaged or in disagreement; or the weights are
            quantized, cut short, or have an adapter beside them.
    """
    files = CheckpointFiles(folder)
    family = find_family(files, name)
    if family.kind != "reranker" and (kind := reranker_kind(files)) is not None:
        raise CheckpointError(_no_reranker(files, kind))
    if family.kind == "text":
        _refuse_heads(files)
    check_ropes(files.config)
    profile = family.make_profile(files)
    if profile.architecture.partition(":")[0] not in OF_TEXT:  # those have read all modules
        if profile.architecture not in OF_PAGES:
            refuse_further_modules(folder)
        if not profile.is_reranker:
            check_names(files, is_normalized=profile.normalize)
        if profile.images is not None and isinstance(rule := profile.images.pixel_rule, PixelRule):
            check_sizes(files, rule.min_pixels, rule.max_pixels)
    if profile.architecture == "static" and (folder / JOINED).is_dir():
        raise CheckpointError(f"{folder} has an adapter, and {profile.name} has no layers that it could change")
    check_weights(folder)
    if profile.architecture != "static":
        refuse_unknown_tensors(files)
    return profile


def find_family(files: CheckpointFiles, name: str = "") -> Family:
    """The family of a checkpoint, chosen as `load_profile` says; the same arguments and errors."""
    named = name or files.own.get("family")
    return _choose(files) if named is None else _named(files, named)


def _named(files: CheckpointFiles, name: object) -> Family:
    if not isinstance(name, str) or name not in FAMILIES:
        raise CheckpointError(
            f"the family {name!r} is unknown; known: {', '.join(_alike(name, FAMILIES) or sorted(FAMILIES))}"
        )
    family = FAMILIES[name]
    if files.model_type not in family.model_types:
        raise CheckpointError(
            f"{files.folder / 'config.json'} has model_type {files.model_type!r}; the family {name} is of "
            f"{', '.join(map(repr, family.model_types))}"
        )
    return family


def _choose(files: CheckpointFiles) -> Family:
    ofs = {name: family for name, family in FAMILIES.items() if files.model_type in family.model_types}
    fitting = [family for family in ofs.values() if family.fits(files)]
    if fitting:
        return max(fitting, key=lambda family: family.rank)
    if (kind := reranker_kind(files)) is not None:
        raise CheckpointError(_no_reranker(files, kind))
    where = f"{files.folder / 'config.json'} has model_type {files.model_type!r}"
    if ofs:
        choices = "; ".join(f"{name} ({family.about})" for name, family in sorted(ofs.items()))
        raise CheckpointError(
            f"{where}, which several models share, and nothing in the files says which this is (names and cards do "
            f"not count). Say so with `--family`, or `cenote.family` of config.json: {choices}"
        )
    alike = [f"{name!r} ({TYPES[name]})" for name in _alike(files.model_type, TYPES)]
    nearest = f"the nearest: {', '.join(alike)}" if alike else "no supported type has a similar name"
    raise CheckpointError(f"{where}, not supported; {nearest}.{_code(files)} docs/models.md lists all families")


def _refuse_heads(files: CheckpointFiles) -> None:
    """Refuse a classifier's weights in a folder that says neither by architecture nor by modules what they are for.

    A family's name that was given says it too little: the head would be dropped without a word.
    """
    if module_kinds(files):
        return
    for path in list_weight_files(files.folder):
        if head := next((name for name in read_header(path) if CLASSIFIER_HEAD.match(name)), None):
            raise CheckpointError(
                f"{files.folder / 'config.json'} has architectures {files.config.get('architectures')!r}, and "
                f"{path.name} has the tensor {head}, a classifier's head: a reranker has a class that ends in "
                f"{CLASSIFIER} there, and an embedder that was made of one has a modules.json with Pooling"
            )


def _no_reranker(files: CheckpointFiles, kind: Kind) -> str:
    """The error of a reranker that no family scores: an embedder would pass over what makes its scores."""
    supported = "; ".join(
        f"{family.about} ({', '.join(family.model_types)})" for family in FAMILIES.values() if family.kind == "reranker"
    )
    return (
        f"{told(files, kind)}, with model_type {files.model_type!r}: a reranker of a kind not supported.{_code(files)} "
        f"Supported rerankers: {supported}"
    )


def _code(files: CheckpointFiles) -> str:
    return " It brings code of its own (auto_map), which is never run here." if files.config.get("auto_map") else ""


def _alike(name: object, known: Iterable[str]) -> list[str]:
    """The names that are spelled most like one, the likest first."""
    return get_close_matches(str(name), list(known), n=3, cutoff=0.5)
