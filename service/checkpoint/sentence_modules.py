"""The modules after the transformer in a sentence-transformers folder: `modules.json`, and Dense modules' files.

In: a folder. Out: its modules in order. Both processes read it; it imports no torch.

Source: sentence-transformers 6.2, `base/model.py` and `base/modules/dense.py`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from service.checkpoint.config_files import positive
from service.checkpoint.json_files import (
    DENSE,
    MODULE,
    NORMALIZE,
    CheckpointError,
    check_keys,
    is_inside,
    read_list,
    read_object,
)
from service.checkpoint.released_config import JINA_V5

ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid")
"""Activations of Dense modules that are known, by the last part of their import path in `torch.nn`."""
ORDER = ("StaticEmbedding", "Transformer", "Pooling", "Dense", "Normalize")
"""Kinds that are known, in the order in which they must stand; only Dense may come more than once. A StaticEmbedding
stands for Transformer and Pooling."""
FURTHER = ("Dense", "LayerNorm", "WeightedLayerPooling", "CNN", "LSTM")
"""Kinds that compute other vectors of those that they are given, whatever package they are of."""
POOLED, SCORES = "sentence_embedding", "scores"
"""Names, in sentence-transformers, of the feature that modules after the pooling read and write, and of scores."""
PACKAGE = re.compile(
    r"sentence_transformers\.(?:models|base\.modules|sentence_transformer\.modules)(?:\.\w+)?\."
    rf"(?P<kind>{'|'.join(ORDER)})"
)
"""Import paths of sentence-transformers' modules, now and before release 6. Another package's module of the same name
computes something else: PyLate's Dense works on each token."""


@dataclass(frozen=True, slots=True)
class SentenceModule:
    """One entry of `modules.json`; its kind, the class's name, says what it computes."""

    kind: str
    folder: Path


@dataclass(frozen=True, slots=True)
class DenseConfig:
    """``activation(W x + b)`` over a pooled vector, or over the states of tokens.

    Attributes:
        in_features: length of x.
        out_features: length of the result.
        bias: whether there is a b.
        activation: one of `ACTIVATIONS`.
        has_residual: x is added to it, through a matrix of its own where the lengths differ.
    """

    folder: Path
    in_features: int
    out_features: int
    bias: bool
    activation: str
    has_residual: bool = False


@dataclass(frozen=True, slots=True)
class NormConfig:
    """A layer norm over a pooled vector."""

    folder: Path
    in_features: int

    @property
    def out_features(self) -> int:
        """The same."""
        return self.in_features


def list_modules(folder: Path) -> tuple[SentenceModule, ...]:
    """The modules of a folder in order; none where it has no `modules.json`."""
    path = folder / "modules.json"
    if not path.exists() or _is_of_own_code(path):
        return ()
    modules = read_modules(folder, PACKAGE, f"{', '.join(ORDER)} of sentence_transformers")
    kinds = [module.kind for module in modules]
    singles = [kind for kind in kinds if kind != "Dense"]
    is_static = kinds[:1] == ["StaticEmbedding"] and not {"Transformer", "Pooling"} & {*kinds}
    has_begin = is_static or kinds[:1] == ["Transformer"]
    if sorted(kinds, key=ORDER.index) != kinds or len({*singles}) != len(singles) or not has_begin:
        raise CheckpointError(
            f"{path} has {', '.join(kinds)}; supported: one each of {', '.join(ORDER[1:])}, any Dense; or "
            f"{ORDER[0]} in the place of the first two"
        )
    if not is_static and "Pooling" not in kinds:
        raise CheckpointError(f"{path} has {', '.join(kinds)} and no Pooling: without it there is no single vector")
    return modules


def _is_of_own_code(path: Path) -> bool:
    """True of jina-embeddings-v5-text, whose only module is of its own code: what that pools is its family's."""
    config = path.with_name("config.json")
    is_jinas = config.is_file() and read_object(config).get("model_type") == JINA_V5
    return is_jinas and [entry.get("type") for entry in read_list(path)] == ["custom_st.Transformer"]


def read_modules(folder: Path, known: re.Pattern[str], supported: str) -> tuple[SentenceModule, ...]:
    """The entries of `modules.json` in order, whichever and however many.

    Args:
        known: import paths; the group `kind` is the module's.
        supported: what an error says of them.
    """
    path = folder / "modules.json"
    entries, modules = read_list(path), list[SentenceModule]()
    names = [entry.get("name") for entry in entries if "name" in entry]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CheckpointError(f"{path} has two modules of the name {twice[0]!r}, of which one would be lost")
    for entry in entries:
        check_keys(path, entry, MODULE)
        place, kind = entry.get("path", ""), entry.get("type", "")
        if not isinstance(place, str) or not isinstance(kind, str) or not is_inside(place):
            raise CheckpointError(f"{path} has an entry whose path is not a folder below it")
        if (found := known.fullmatch(kind)) is None:
            raise CheckpointError(f"{path} has the module {kind!r}; supported: {supported}")
        module = SentenceModule(found["kind"], folder / place)
        if not modules and module.kind.endswith("Transformer") and module.folder != folder:
            raise CheckpointError(f"{path} has its Transformer in a folder of its own; supported: beside modules.json")
        modules.append(module)
    return tuple(modules)


def refuse_further_modules(folder: Path) -> None:
    """Pass where `modules.json` names nothing that would change the vectors of a model which is not a text encoder.

    What is known by another name is the family's own code, in which its vectors are made, and is passed over.
    """
    path = folder / "modules.json"
    entries = read_list(path) if path.exists() else []
    kinds = [str(entry.get("type", "")) for entry in entries]
    if found := next((kind for kind in kinds if kind.rpartition(".")[2] in FURTHER), None):
        raise CheckpointError(
            f"{path} has the module {found!r}: what stands behind the transformer is applied to text models only, and "
            "without it vectors would be others"
        )


def read_dense(module: SentenceModule, read: str = POOLED, *, makes_scores: bool = False) -> DenseConfig:
    """The configuration of a Dense module.

    Args:
        read: what it reads and writes, by sentence-transformers' name.
        makes_scores: it writes the scores of a reranker instead.
    """
    path = module.folder / "config.json"
    config = read_object(path)
    activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    name = activation.rpartition(".")[2]
    if not activation.startswith("torch.nn.") or name not in ACTIVATIONS:
        raise CheckpointError(f"{path} has activation_function {activation!r}; supported: {', '.join(ACTIVATIONS)}")
    supported = {"module_input_name": (read, None), "module_output_name": (SCORES,) if makes_scores else (read, None)}
    for key, values in supported.items():
        if config.get(key) not in values:
            raise CheckpointError(f"{path} has {key} {config.get(key)!r}; supported: {values[0]!r}")
    check_keys(path, config, DENSE)
    has_residual = config.get("use_residual", False)
    if has_residual not in (False, True):
        raise CheckpointError(f"{path} has use_residual {has_residual!r}; supported: true, false")
    sizes = [positive(config, key, path) for key in ("in_features", "out_features")]
    return DenseConfig(module.folder, sizes[0], sizes[1], bool(config.get("bias", True)), name, has_residual)


def check_normalize(folder: Path, read: str = POOLED) -> bool:
    """True: it normalizes what it reads. Older releases have no file of its own."""
    path = folder / "config.json"
    config = read_object(path) if path.is_file() else {}
    check_keys(path, config, NORMALIZE)
    source = config.get("module_input_name", POOLED)
    goal = config.get("module_output_name") or source
    if (source, goal) != (read, read):
        key = "module_input_name" if source != read else "module_output_name"
        raise CheckpointError(f"{path} has {key} {config.get(key, source)!r}; supported: {read!r}")
    return True
