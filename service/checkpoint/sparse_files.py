"""SPLADE's files: modules of a masked language model and SpladePooling, or a Router whose queries a table weighs.

OpenSearch's doc-only models have the latter form: their documents are SPLADE's. The transformer lies beside
`modules.json`, as released, or in a folder of its own, as sentence-transformers saves it; `beside` brings the latter
into the first form. Imports no torch.

Source: sentence-transformers 6.2 `SparseEncoder`, `SpladePooling`, `MLMTransformer`, `Router`, `SparseStaticEmbedding`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.checkpoint.json_files import CheckpointError, is_inside, read_list, read_object
from service.checkpoint.linked_folder import linked_folder
from service.checkpoint.sentence_modules import read_modules
from service.checkpoint.weight_files import SINGLE, read_header

ROUTER, CONFIG = "Router", "router_config.json"
POOLING, TABLE = "SpladePooling", "SparseStaticEmbedding"
TRANSFORMERS = ("Transformer", "MLMTransformer")
KIND = re.compile(r"sentence_transformers\.[\w.]+\.(?P<kind>\w+)")
"""Import paths of sentence-transformers' modules, now and before release 6."""
SIDES: Mapping[str, tuple[str, ...]] = {"query": (TABLE,), "document": ("Transformer", POOLING)}
SUPPORTED = f"the routes query, of {TABLE} alone, and document, of a Transformer and {POOLING}"
STRATEGIES = ("max", "sum")
ACTIVATIONS = ("relu", "log1p_relu")
SUPPORTED_MODULES = "a Transformer, then SpladePooling, nothing else"
WEIGHT = "weight"
"""The table's tensor."""
OF_TEXTS = ("model", "normalizer", "pre_tokenizer", "added_tokens")
"""Parts of tokenizer.json that make tokens of a text without special ones around it."""


@dataclass(frozen=True, slots=True)
class Router:
    """Where the modules of both sides are: the documents' transformer and pooling, and the queries' table."""

    transformer: Path
    pooling: Path
    queries: Path


def read_router(folder: Path) -> Router | None:
    """The modules of both sides; None where `modules.json` has no Router to SPLADE."""
    modules, path = folder / "modules.json", folder / CONFIG
    if not modules.is_file() or not path.is_file():
        return None
    if [str(one.get("type")).rpartition(".")[2] for one in read_list(modules)] != [ROUTER]:
        return None
    config = read_object(path)
    types, structure = config.get("types"), config.get("structure")
    if not isinstance(types, dict) or not any(str(one).endswith(f".{POOLING}") for one in types.values()):
        return None
    if not isinstance(structure, dict):
        raise CheckpointError(f"{path} has structure {structure!r}; an object of routes is needed")
    parameters = config.get("parameters")
    if isinstance(parameters, dict) and (mappings := parameters.get("route_mappings")):
        raise CheckpointError(f"{path} has route_mappings {json.dumps(mappings)}; supported: none")
    kinds = {side: tuple(_kind(types.get(one)) for one in _ids(route)) for side, route in structure.items()}
    if kinds != dict(SIDES):
        said = "; ".join(f"{side} of {', '.join(names) or 'nothing'}" for side, names in kinds.items())
        raise CheckpointError(f"{path} has the routes {said}; supported: {SUPPORTED}")
    if outside := [one for route in structure.values() for one in route if not is_inside(one)]:
        raise CheckpointError(f"{path} has the module {outside[0]!r}, which is not a folder below it")
    transformer, pooling = structure["document"]
    own = folder / transformer if transformer and (folder / transformer).is_dir() else folder
    return Router(own, folder / pooling, folder / structure["query"][0])


def beside(folder: Path) -> Path:
    """The checkpoint as one whose transformer lies beside `modules.json`; others as they are."""
    router = read_router(folder)
    if router is None or router.transformer == folder:
        return folder
    return linked_folder(dict(_links(folder, router)), "routers")


def read_table(router: Router, num_entries: int) -> int | None:
    """Check the table against the vocabulary; the longest query, tokens, or None: any."""
    config, weights = read_object(router.queries / "config.json"), router.queries / SINGLE
    if config.get("path") is not None or not weights.is_file():
        raise CheckpointError(
            f"{router.queries} has no {SINGLE}; supported: the table as sentence-transformers saves it, not {CONFIG} "
            f"beside a JSON file of weights (path is {config.get('path')!r})"
        )
    shape = read_header(weights).get(WEIGHT, {}).get("shape")
    if shape != [num_entries]:
        raise CheckpointError(f"{weights} has {WEIGHT} of shape {shape}; the vocabulary has {num_entries} entries")
    query, document = (read_object(place / "tokenizer.json") for place in (router.queries, router.transformer))
    for part in OF_TEXTS:
        if query.get(part) != document.get(part):
            raise CheckpointError(
                f"{router.queries / 'tokenizer.json'} has another {part} than {router.transformer / 'tokenizer.json'}; "
                "supported: one tokenizer for queries and documents"
            )
    longest = read_object(router.queries / "tokenizer_config.json").get("model_max_length")
    return int(longest) if isinstance(longest, int | float) and 1 <= longest < 1e9 else None


def _ids(route: object) -> list[str]:
    return [one for one in route if isinstance(one, str)] if isinstance(route, list) else []


def _kind(import_path: object) -> str:
    found = KIND.fullmatch(str(import_path))
    kind = str(import_path) if found is None else found["kind"]
    return TRANSFORMERS[0] if kind in TRANSFORMERS else kind


def _links(folder: Path, router: Router) -> Iterator[tuple[str, Path]]:
    own = [path for pattern in ("*.json", "*.jinja") for path in folder.glob(pattern) if path.name != "config.json"]
    of_transformer = [path for path in router.transformer.iterdir() if path.is_file()]
    for path in (*own, *of_transformer):
        yield path.name, path.resolve()
    for place in (router.pooling, router.queries):
        for path in place.iterdir():
            if path.is_file():
                yield f"{place.name}/{path.name}", path.resolve()


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
    """True where `modules.json` pools by SpladePooling, or routes documents to it."""
    path = folder / "modules.json"
    if not path.is_file():
        return False
    return any(str(one.get("type")).endswith(f".{POOLING}") for one in read_list(path)) or bool(read_router(folder))


def read_splade(folder: Path) -> SpladePooling:
    """The pooling's configuration."""
    router = read_router(folder)
    pooling = (_pooling_folder(folder) if router is None else router.pooling) / "config.json"
    config = read_object(pooling)
    strategy = _choice(pooling, config, "pooling_strategy", STRATEGIES)
    return SpladePooling(strategy, _choice(pooling, config, "activation_function", ACTIVATIONS), router)


def _pooling_folder(folder: Path) -> Path:
    modules, path = read_modules(folder, KIND, SUPPORTED_MODULES), folder / "modules.json"
    kinds = [module.kind for module in modules]
    if kinds not in [[transformer, POOLING] for transformer in TRANSFORMERS]:
        raise CheckpointError(f"{path} has {', '.join(kinds)}; supported with {POOLING}: {SUPPORTED_MODULES}")
    return modules[1].folder


def _choice(path: Path, config: dict[str, Any], key: str, known: tuple[str, ...]) -> str:
    value = config.get(key, known[0])
    if value not in known:
        raise CheckpointError(f"{path} has {key} {value!r}; supported: {', '.join(known)}")
    return str(value)
