"""Rerankers on decoders as the engine runs them: one row over the last hidden state, for Qwen3 by Qwen3-VL's decoder.

So the pairs of a query compute what they begin with once, and the last layer runs for their last tokens alone. A
checkpoint whose layers are others, such as those with a window, runs on the stock module's.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel, Qwen3Model

from cenote_kernels import PoolingMode
from service.model.embedding_model import Probe
from service.model.linear.products import packed_products
from service.model.packed.packed_batch import PackedBatch
from service.model.qwen3_vl.language import LanguageModel
from service.model.reranker.answer_row import load_answer_row
from service.model.stock.dense_head import Head
from service.model.stock.text_encoder import TextEncoder


class AnswerHead:
    """A `Head` of one row."""

    hidden_size = 1

    def __init__(self, row: torch.Tensor) -> None:
        self._row = row[:, None]
        self.num_parameters = row.numel()

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """``vectors · row``, `[rows, 1]`, float32."""
        return vectors @ self._row


class TextJudge(TextEncoder):
    """An `EmbeddingModel` whose vector is one number, a logit: often by how much `yes` is likelier than `no`.

    Attributes:
        language: our decoder on the stock module's weights; None where its layers are others.
    """

    def __init__(self, stock: PreTrainedModel, pooling: PoolingMode, head: Head) -> None:
        """Run `stock`, of which the last token is pooled."""
        super().__init__(stock, pooling, head)
        has_our_layers = isinstance(stock, Qwen3Model) and _is_plain(stock.config)
        self.language = LanguageModel(cast(Qwen3Model, stock)) if has_our_layers else None

    @staticmethod
    def load_head(folder: Path, stock: PreTrainedModel) -> Head:
        """Rows of the language-model head, or the classifier's."""
        return AnswerHead(load_answer_row(folder, stock.device, stock.dtype))

    def prepack(self) -> bool:
        """Bring the decoder's matrices into the layout of packed products; the stock forward may not be run any more.

        Returns:
            Whether it did.
        """
        if self.language is None:
            return super().prepack()
        products = packed_products(self.device, self.dtype)
        if products is None:
            return False
        self.language = None  # it holds the matrices that are about to be given back
        self.language = LanguageModel(cast(Qwen3Model, self.stock), products=products)
        return True

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``row · decoder(batch)[last]``, `[num_requests, 1]`."""
        if self.language is None:
            return super().embed(batch)
        return self._head(self.language.forward(batch, last_only=True).float())

    def probes(self) -> Sequence[Probe]:
        """Those of every text model, and two that begin as the first of them does."""
        probes = list(super().probes())
        begin, others = probes[0].token_ids, probes[1].token_ids
        return [*probes, Probe([*begin, *others]), Probe([*begin, *reversed(others)])]


def _is_plain(config: Any) -> bool:
    """Whether each layer attends to all that came before, without biases, and gates by SiLU."""
    windows = {*(getattr(config, "layer_types", None) or ["full_attention"])} - {"full_attention"}
    return not windows and not config.attention_bias and config.hidden_act == "silu"
