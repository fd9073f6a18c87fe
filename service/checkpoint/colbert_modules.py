"""The modules after the transformer of a late-interaction model of texts, which work on each token. Imports no torch.

Source: sentence-transformers 6.2 `MultiVectorMask`, `Dense`, `Normalize`; PyLate 1.6 `models/Dense.py`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from service.checkpoint.json_files import CheckpointError, read_object
from service.checkpoint.sentence_modules import DenseConfig, check_normalize, read_dense, read_modules
from service.checkpoint.weight_files import SINGLE, check_plain, read_header

TOKENS = "token_embeddings"
"""Name, in sentence-transformers, of the feature that modules here read and write."""
KIND = re.compile(
    r"(?:sentence_transformers\.[\w.]+|pylate\.models\.Dense)\.(?P<kind>Transformer|Dense|MultiVectorMask|Normalize)"
)
"""Import paths of the modules, now and in older releases."""
SUPPORTED = "a Transformer, any Dense, then MultiVectorMask and Normalize"
PROJECTION = "linear.weight"
"""ColBERT's own, beside the encoder's weights."""
COLBERT_METADATA = "artifact.metadata"
"""File of lengths, markers and masks in ColBERT's own checkpoints; JSON."""
SIDES = ("query", "document")


@dataclass(frozen=True, slots=True)
class TokenModules:
    """The modules that the states of tokens go through.

    Attributes:
        normalize: whether each vector comes out at length 1.
        skiplists: tokens of a query, and of a document, whose vectors are not given.
    """

    dense: tuple[DenseConfig, ...]
    normalize: bool
    skiplists: tuple[Sequence[str], Sequence[str]]


def read_token_modules(folder: Path, *, is_pylates: bool) -> TokenModules:
    """The modules that `modules.json` names.

    Args:
        is_pylates: vectors are normalized whether or not a module says so, and there is a projection.
    """
    path = folder / "modules.json"
    modules = read_modules(folder, KIND, SUPPORTED)
    kinds = [module.kind for module in modules]
    dense = tuple(read_dense(module, TOKENS) for module in modules if module.kind == "Dense")
    rest = kinds[1 + len(dense) :]
    if kinds[: 1 + len(dense)] != ["Transformer", *["Dense"] * len(dense)] or len({*rest}) != len(rest):
        raise CheckpointError(f"{path} has {', '.join(kinds)}; supported: {SUPPORTED}")
    if is_pylates and not dense:
        raise CheckpointError(f"{path} has no Dense: PyLate's models project the state of each token")
    masks = [_read_mask(module.folder) for module in modules if module.kind == "MultiVectorMask"]
    if "Normalize" in rest and not is_pylates:
        check_normalize(modules[kinds.index("Normalize")].folder, TOKENS)
    return TokenModules(dense, is_pylates or "Normalize" in rest, masks[0] if masks else ((), ()))


def stanford_projection(folder: Path) -> DenseConfig:
    """The projection that lies among the weights of ColBERT's own checkpoints."""
    path = folder / SINGLE
    matrix = read_header(path).get(PROJECTION, {}) if path.is_file() else {}
    shape = matrix.get("shape")
    if not isinstance(shape, list) or len(shape) != 2:
        raise CheckpointError(f"{path} has no matrix {PROJECTION}, the projection of ColBERT's own checkpoints")
    check_plain(path, PROJECTION, matrix)
    return DenseConfig(folder, shape[1], shape[0], bias=False, activation="Identity")


def _read_mask(folder: Path) -> tuple[Sequence[str], Sequence[str]]:
    """The skiplists of queries and documents."""
    path = folder / "config.json"
    config = read_object(path)
    words, tasks = config.get("skiplist_words") or [], config.get("skiplist_tasks") or ["document"]
    tasks = [tasks] if isinstance(tasks, str) else tasks
    for key in config:
        if key not in ("skiplist_words", "skiplist_tasks") and config[key]:
            raise CheckpointError(f"{path} has {key} {config[key]!r}; supported: skiplist_words and skiplist_tasks")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise CheckpointError(f"{path} has skiplist_words {words!r}; a list of strings is needed")
    if not isinstance(tasks, list) or {*map(str, tasks)} - {*SIDES}:
        raise CheckpointError(f"{path} has skiplist_tasks {tasks!r}; supported: {', '.join(SIDES)}")
    query, document = (words if side in tasks else () for side in SIDES)
    return query, document
