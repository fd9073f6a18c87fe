"""Which code runs a model, by the name that its profile gives. A family of the same architecture needs no line here."""

from collections.abc import Callable
from pathlib import Path

import torch

from cenote_kernels import PoolingMode
from service.model import stock_vlm
from service.model.clap import Clap
from service.model.colqwen2 import ColQwen2
from service.model.embedding_model import EmbeddingModel
from service.model.qwen3_vl import Qwen3VLEmbedding
from service.model.text_encoder import TextEncoder
from service.model.two_tower import TwoTower

Loader = Callable[[Path, torch.device, torch.dtype | None, PoolingMode], EmbeddingModel]

ARCHITECTURES: dict[str, Loader] = {
    "clap": Clap.load,
    "qwen3_vl": Qwen3VLEmbedding.load,
    "text_encoder": TextEncoder.load,
    "two_tower": TwoTower.load,
    "colqwen2": ColQwen2.load,
    **stock_vlm.LOADERS,
}
"""Loaders: folder, device, dtype (None: the checkpoint's own) and pooling to a model."""
