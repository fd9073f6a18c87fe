"""SPLADE for documents alone: a query's vector is the weights of its tokens by a table, without a forward.

Source: sentence-transformers 6.2 `SparseStaticEmbedding`; Geng et al. 2024 (arXiv 2411.04403).
"""

from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import PreTrainedModel

from service.checkpoint.sparse.router_files import WEIGHT
from service.checkpoint.sparse.splade_files import SpladePooling
from service.checkpoint.weight_files import SINGLE
from service.model.packed.packed_batch import PackedBatch
from service.model.stock.splade import Splade


class RoutedSplade(Splade):
    """A `Splade` whose queries do not go through it."""

    def __init__(self, whole: PreTrainedModel, how: SpladePooling, table: torch.Tensor) -> None:
        """Weigh queries by `table`, `[vocabulary]`."""
        super().__init__(whole, how)
        self.num_parameters += table.numel()
        self._table = table

    @classmethod
    def load(  # type: ignore[override]  # see `Splade.load`
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None
    ) -> "RoutedSplade":
        """From a checkpoint's folder; the table stays in float32."""
        plain = Splade.load(folder, device, dtype)
        assert plain.how.router is not None  # the architecture follows from it
        table = load_file(plain.how.router.queries / SINGLE)[WEIGHT].float().to(device)
        return cls(plain.whole, plain.how, table)

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """Weights, `[num_prompts, vocabulary]`, float32: of a query those of the tokens in it, each once."""
        is_static = [plan.uses_static_weights for plan in batch.plans]
        if not any(is_static):
            return super().embed(batch)
        vectors = torch.zeros(len(batch.segment_lengths), self.hidden_size, device=self.device)
        token_ids = batch.token_ids.to(self.device)
        for place, (start, stop) in enumerate(pairwise([0, *accumulate(batch.segment_lengths)])):
            if is_static[place]:
                present = token_ids[start:stop]
                vectors[place, present] = self._table[present]
        if not all(is_static):
            is_document = ~torch.tensor(is_static)
            vectors[is_document.to(self.device)] = super().embed(_documents(batch, is_document))
        return vectors


def _documents(batch: PackedBatch, is_document: torch.Tensor) -> PackedBatch:
    """The batch without its queries."""
    lengths = torch.tensor(batch.segment_lengths)
    is_token = is_document.repeat_interleave(lengths)
    return replace(
        batch,
        token_ids=batch.token_ids[is_token],
        position_ids=batch.position_ids[:, is_token],
        segment_lengths=lengths[is_document].tolist(),
        tenants=(),
        plans=(),
        asks=(),
    )
