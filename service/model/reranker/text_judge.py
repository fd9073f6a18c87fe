"""Qwen3-Reranker as the engine runs it: a packed text decoder, and one row over the last token's hidden state."""

from pathlib import Path

import torch
from transformers import PreTrainedModel

from service.model.reranker.answer_row import load_answer_row
from service.model.stock.dense_head import Head
from service.model.stock.text_encoder import TextEncoder


class AnswerHead:
    """A `Head` that compares `yes` with `no`."""

    hidden_size = 1

    def __init__(self, row: torch.Tensor) -> None:
        self._row = row[:, None]
        self.num_parameters = row.numel()

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """``vectors · row``, `[rows, 1]`, float32."""
        return vectors @ self._row


class TextJudge(TextEncoder):
    """An `EmbeddingModel` whose vector is one number: by how much `yes` is likelier than `no`, as a logit."""

    @staticmethod
    def load_head(folder: Path, stock: PreTrainedModel) -> Head:
        """Two rows of the language-model head."""
        return AnswerHead(load_answer_row(folder, stock.device, stock.dtype))
