"""The code that runs a model, by its profile's `architecture`. A family of the same architecture needs no line here."""

from collections.abc import Callable
from pathlib import Path

import torch

from cenote_kernels import PoolingMode
from service.model.embedding_model import EmbeddingModel
from service.model.qwen3_vl.qwen3_vl import Qwen3VLEmbedding
from service.model.stock import stock_vlm
from service.model.stock.colqwen2 import ColQwen2
from service.model.stock.text_encoder import TextEncoder
from service.model.two_tower.clap import Clap
from service.model.two_tower.two_tower import TwoTower

Loader = Callable[[Path, torch.device, torch.dtype | None, PoolingMode], EmbeddingModel]

ARCHITECTURES: dict[str, Loader] = {
    "clap": Clap.load,
    "qwen3_vl": Qwen3VLEmbedding.load,
    "text_encoder": TextEncoder.load,
    "two_tower": TwoTower.load,
    "colqwen2": ColQwen2.load,
    **stock_vlm.LOADERS,
}


def load_model(
    architecture: str, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
) -> EmbeddingModel:
    """Load a checkpoint; a `dtype` of None is its own.

    Args:
        architecture: a profile's; `text_encoder:NAME` has the class of transformers that loads the weights.
    """
    kind, _, model_class = architecture.partition(":")
    if model_class:
        return TextEncoder.load(folder, device, dtype, pooling, model_class)
    return ARCHITECTURES[kind](folder, device, dtype, pooling)
