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
        if not any(batch.looked_up):
            return super().embed(batch)
        vectors = torch.zeros(len(batch.segment_lengths), self.hidden_size, device=self.device)
        token_ids = batch.token_ids.to(self.device)
        for place, (start, stop) in enumerate(pairwise([0, *accumulate(batch.segment_lengths)])):
            if batch.looked_up[place]:
                present = token_ids[start:stop]
                vectors[place, present] = self._table[present]
        if not all(batch.looked_up):
            is_document = torch.tensor([not one for one in batch.looked_up], device=self.device)
            vectors[is_document] = super().embed(_documents(batch))
        return vectors


def _documents(batch: PackedBatch) -> PackedBatch:
    """The batch without its queries."""
    lengths = torch.tensor(batch.segment_lengths)
    is_document = ~torch.tensor(batch.looked_up)
    is_token = is_document.repeat_interleave(lengths)
    return replace(
        batch,
        token_ids=batch.token_ids[is_token],
        position_ids=batch.position_ids[:, is_token],
        segment_lengths=lengths[is_document].tolist(),
        tenants=(),
        num_hidden=(),
        looked_up=(),
    )
