"""The modules by which a modular cross-encoder makes a score of its tokens' states, as ettin-reranker has them.

In: a folder. Out: how states are pooled, and the layers after that in order, the last of which gives the score. Both
processes read it; it imports no torch.

Source: sentence-transformers 6.2, `CrossEncoder`, `Pooling`, `Dense`, `LayerNorm`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from service.checkpoint.config_files import positive
from service.checkpoint.json_files import CheckpointError, check_keys, read_object
from service.checkpoint.sentence_files import Pooling, read_pooling
from service.checkpoint.sentence_modules import DenseConfig, NormConfig, SentenceModule, read_dense, read_modules

ORDER = ("Transformer", "Pooling", "Dense", "LayerNorm")
"""Kinds that are known: one each of the first two, then any of the others, and a Dense at the end."""
PACKAGE = re.compile(
    r"sentence_transformers\.(?:models|base\.modules|sentence_transformer\.modules|cross_encoder\.modules)(?:\.\w+)?\."
    rf"(?P<kind>{'|'.join(ORDER)})"
)


@dataclass(frozen=True, slots=True)
class ScoreModules:
    """What comes after the transformer: layers over what is pooled, in order; the last makes one number."""

    pooling: Pooling
    layers: tuple[DenseConfig | NormConfig, ...]


def read_score_modules(folder: Path) -> ScoreModules:
    """Read modules.json and the files of its modules."""
    path = folder / "modules.json"
    supported = f"{ORDER[0]}, {ORDER[1]}, then Dense and LayerNorm, and a Dense whose module_output_name is scores"
    transformer, *others = read_modules(folder, PACKAGE, f"{', '.join(ORDER)} of sentence_transformers")
    kinds = [module.kind for module in (transformer, *others)]
    if kinds[:2] != [*ORDER[:2]] or kinds[-1] != "Dense" or {*kinds[2:]} & {*ORDER[:2]}:
        raise CheckpointError(f"{path} has {', '.join(kinds)}; supported of a cross-encoder of modules: {supported}")
    pooling, *middle, last = others
    score = read_dense(last, makes_scores=True)
    if score.out_features != 1:
        raise CheckpointError(f"{last.folder / 'config.json'} makes {score.out_features} scores; a reranker has one")
    return ScoreModules(read_pooling(pooling.folder), (*map(_layer, middle), score))


def _layer(module: SentenceModule) -> DenseConfig | NormConfig:
    if module.kind == "Dense":
        return read_dense(module)
    path = module.folder / "config.json"
    config = read_object(path)
    check_keys(path, config, ("dimension",))
    return NormConfig(module.folder, positive(config, "dimension", path))
