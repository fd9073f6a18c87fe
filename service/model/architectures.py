"""The code that runs a model, by its profile's `architecture`. A family of the same architecture needs no line here."""

from pathlib import Path

import torch

from cenote_kernels import PoolingMode
from service.model.embedding_model import EmbeddingModel
from service.model.qwen3_vl.late_qwen3_vl import LateQwen3VL
from service.model.qwen3_vl.qwen3_vl import Qwen3VLEmbedding
from service.model.reranker.cross_encoder import CrossEncoder
from service.model.reranker.qwen3_vl_reranker import Qwen3VLReranker
from service.model.reranker.text_judge import TextJudge
from service.model.stock.colbert import ColBert
from service.model.stock.colmodernvbert import ColModernVBert
from service.model.stock.colqwen2 import ColQwen2
from service.model.stock.hybrid_encoder import HybridEncoder
from service.model.stock.late_vlm import LateVlm
from service.model.stock.routed_splade import RoutedSplade
from service.model.stock.splade import Splade
from service.model.stock.stock_vlm import StockVlm
from service.model.stock.text_encoder import TextEncoder
from service.model.two_tower.clap import Clap
from service.model.two_tower.two_tower import TwoTower


def load_model(
    architecture: str, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode
) -> EmbeddingModel:
    """Load a checkpoint; a `dtype` of None is its own.

    Args:
        architecture: a profile's; `text_encoder:NAME` has the class of transformers that loads the weights.
    """
    match architecture.split(":"):
        case ["qwen3_vl"]:
            return Qwen3VLEmbedding.load(folder, device, dtype, pooling)
        case ["qwen3_vl_reranker"]:
            return Qwen3VLReranker.load(folder, device, dtype, pooling)
        case ["cross_encoder"]:
            return CrossEncoder.load(folder, device, dtype, pooling)
        case ["text_judge"]:
            return TextJudge.load(folder, device, dtype, pooling)
        case ["text_encoder", *model_class]:
            return TextEncoder.load(folder, device, dtype, pooling, *model_class)
        case ["colbert", *model_class]:
            return ColBert.load(folder, device, dtype, pooling, *model_class)
        case ["hybrid"]:
            return HybridEncoder.load(folder, device, dtype, pooling)
        case ["splade"]:
            return Splade.load(folder, device, dtype)
        case ["splade_router"]:
            return RoutedSplade.load(folder, device, dtype)
        case ["two_tower"]:
            return TwoTower.load(folder, device, dtype)
        case ["clap"]:
            return Clap.load(folder, device, dtype)
        case ["colqwen2"]:
            return ColQwen2.load(folder, device, dtype, pooling)
        case ["late_qwen3_vl"]:
            return LateQwen3VL.load_whole(folder, device, dtype)
        case ["colmodernvbert"]:
            return ColModernVBert.load_whole(folder, device, dtype)
        case ["late_vlm"]:
            return LateVlm.load_whole(folder, device, dtype)
        case ["stock_vlm_plain"]:
            return StockVlm.load(folder, device, dtype, pooling, counts_plainly=True)
        case ["stock_vlm_mrope"]:
            return StockVlm.load(folder, device, dtype, pooling)
        case ["stock_vlm_mrope_of_image"]:
            return StockVlm.load(folder, device, dtype, pooling, of_image=True)
    raise ValueError(f"no code runs the architecture {architecture}")
