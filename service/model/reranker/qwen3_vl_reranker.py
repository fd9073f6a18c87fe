"""Qwen3-VL-Reranker as the engine runs it: the embedder's forward, and one row over the last token's hidden state."""

from pathlib import Path

import torch
from transformers import Qwen3VLModel

from cenote_kernels import PoolingMode
from service.model.embedding_model import Probe
from service.model.load import load_stock
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.qwen3_vl import Qwen3VLEmbedding
from service.model.reranker.answer_row import load_answer_row


class Qwen3VLReranker(Qwen3VLEmbedding):
    """An `EmbeddingModel` whose vector is one number: by how much `yes` is likelier than `no`, as a logit."""

    def __init__(self, stock: Qwen3VLModel, row: torch.Tensor) -> None:
        """Run `stock` with the head `row`, `[width]`, float32."""
        super().__init__(stock)
        self.hidden_size = 1
        self._row = row[:, None]

    @classmethod
    def load(
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None, pooling: PoolingMode = "last_token"
    ) -> "Qwen3VLReranker":
        """From a checkpoint's folder; see `load_stock`."""
        stock = load_stock(Qwen3VLModel, folder, device, dtype)
        return cls(stock, load_answer_row(folder, device, stock.dtype))

    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``row · decoder(batch)[last]``, `[num_requests, 1]`."""
        return super().embed(batch) @ self._row

    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """The logit of a probe, `[1]`."""
        return super().stock_vector(probe) @ self._row
