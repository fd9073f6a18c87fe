"""SPLADE's files: modules of a masked language model and SpladePooling, and how that pools. Imports no torch.

Source: sentence-transformers 6.2 `SparseEncoder`, `SpladePooling`, `MLMTransformer`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, read_list, read_object
from service.checkpoint.sentence_modules import read_modules
from service.checkpoint.sparse.router_files import KIND, POOLING, TRANSFORMERS, Router, read_router

STRATEGIES = ("max", "sum")
ACTIVATIONS = ("relu", "log1p_relu")
SUPPORTED = "a Transformer, then SpladePooling, nothing else"


@dataclass(frozen=True, slots=True)
class SpladePooling:
    """Pooling of the logits of a text's tokens into weights of the vocabulary's entries.

    Attributes:
        strategy: `max` or `sum` over the tokens.
        activation: `relu`: log1p(relu(logit)); `log1p_relu`: log1p of that once more.
        router: of a model whose queries are weighed by a table; None where both sides are pooled.
    """

    strategy: str
    activation: str
    router: Router | None = None


def is_splade(folder: Path) -> bool:
    """True where `modules.json` pools by SpladePooling, or routes documents to it.

    Raises:
        CheckpointError: the file is damaged.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return False
    return any(str(one.get("type")).endswith(f".{POOLING}") for one in read_list(path)) or bool(read_router(folder))


def read_splade(folder: Path) -> SpladePooling:
    """The pooling's configuration.

    Raises:
        CheckpointError: the modules are others than the model and its pooling, or it asks for what is not supported.
    """
    router = read_router(folder)
    pooling = (_pooling_folder(folder) if router is None else router.pooling) / "config.json"
    config = read_object(pooling)
    strategy = _choice(pooling, config, "pooling_strategy", STRATEGIES)
    return SpladePooling(strategy, _choice(pooling, config, "activation_function", ACTIVATIONS), router)


def _pooling_folder(folder: Path) -> Path:
    modules, path = read_modules(folder, KIND, SUPPORTED), folder / "modules.json"
    kinds = [module.kind for module in modules]
    if kinds not in [[transformer, POOLING] for transformer in TRANSFORMERS]:
        raise CheckpointError(f"{path} has {', '.join(kinds)}; supported with {POOLING}: {SUPPORTED}")
    if modules[0].folder != folder:
        raise CheckpointError(f"{path} has its Transformer in a folder of its own; supported: beside modules.json")
    return modules[1].folder


def _choice(path: Path, config: dict[str, Any], key: str, known: tuple[str, ...]) -> str:
    value = config.get(key, known[0])
    if value not in known:
        raise CheckpointError(f"{path} has {key} {value!r}; supported: {', '.join(known)}")
    return str(value)
