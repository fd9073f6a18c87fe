"""Tells rerankers and their kinds by architecture and modules of a folder, never by a name or a card.

In: a checkpoint's files. Out: what makes its score. Imports no torch.

Source: sentence-transformers 6.2, `CrossEncoder`; transformers 5.24, `AutoModelForSequenceClassification`.
"""

from typing import Any, Literal

from service.checkpoint.config_files import NAMES, CheckpointFiles
from service.checkpoint.json_files import read_list

Kind = Literal["classifier", "logits", "modules", "own"]
"""Origin of the score: a classifier's head, a language model's logits, modules, or code of its own."""

CLASSIFIER = "ForSequenceClassification"
MODULES, CROSS_ENCODER = "modules.json", "CrossEncoder"
TRANSFORMER, LOGIT_SCORE = "Transformer", "LogitScore"
OWN = ("Rank", "Reward", "CrossEncoder")
"""Parts of architectures' names that score by code of their own: `JinaVLForRanking`, `JinaForRanking`."""


def reranker_kind(files: CheckpointFiles) -> Kind | None:
    """The kind of a reranker; None for all others, such as an embedder that was made of a classifier."""
    modules, name = module_kinds(files), architecture(files)
    if LOGIT_SCORE in modules:
        return "logits"
    if is_saved(files) and (modules != [TRANSFORMER] or not name.endswith(CLASSIFIER)):
        return "modules"
    if name.endswith(CLASSIFIER):
        return "classifier" if modules in ([], [TRANSFORMER]) else None
    return "own" if any(part in name for part in OWN) else None


def is_saved(files: CheckpointFiles) -> bool:
    """True if sentence-transformers saved a `CrossEncoder`: then its own files count, and otherwise none of them."""
    return (files.folder / MODULES).exists() and files.optional(NAMES).get("model_type") == CROSS_ENCODER


def architecture(files: CheckpointFiles) -> str:
    """The first class that config.json names; empty where there is none."""
    names: Any = files.config.get("architectures")
    return str(names[0]) if isinstance(names, list) and names else ""


def module_kinds(files: CheckpointFiles) -> list[str]:
    """The last parts of the import paths in modules.json, in order; none where there is no such file."""
    path = files.folder / MODULES
    return [str(entry.get("type", "")).rpartition(".")[2] for entry in read_list(path)] if path.exists() else []


def told(files: CheckpointFiles, kind: Kind) -> str:
    """Return the entries of the files that make a folder a reranker of a kind, with their names and keys."""
    by_modules = f"{files.folder / MODULES} has {', '.join(module_kinds(files))}"
    if kind == "logits":
        return by_modules
    if kind == "modules":
        return f"{by_modules}, and {NAMES} has model_type {CROSS_ENCODER!r}"
    return f"{files.folder / 'config.json'} has architectures {files.config.get('architectures')!r}"
