"""ColBERT as the engine runs it: a packed encoder, and projections that give each token a vector of its own.

What a query is filled with may be hidden: it attends to the query, and nothing attends to it (`Group.num_hidden`).

Source: sentence-transformers 6.2 `MultiVectorEncoder`, PyLate 1.6 `ColBERT`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel

from service.checkpoint.colbert_files import colbert_form
from service.checkpoint.colbert_modules import PROJECTION, read_token_modules, stanford_projection
from service.checkpoint.config_files import CheckpointFiles
from service.model.embedding_model import Probe
from service.model.packed.packed_batch import PackedBatch
from service.model.stock.dense_head import DenseHead, Head
from service.model.stock.text_encoder import TextEncoder

NUM_HIDDEN = 5
"""Of the known-answer check's last prompt."""


class ColBert(TextEncoder):
    """An `EmbeddingModel` whose profile's pooling is `multi_vector`."""

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``dense(stock(batch))``, `[total_tokens, hidden_size]`: markers, text and what it is filled with alike."""
        if len(batch.segment_lengths) == 1:
            return self._embed_alone(batch)
        states, plan = self._ordered(batch)
        return self._head(states.float())[torch.from_numpy(plan.row).to(self.device)]

    def _pooled(self, states: torch.Tensor, bounds: torch.Tensor) -> torch.Tensor:
        """A vector for each token; nothing is pooled."""
        return self._head(states.float())

    def probes(self) -> Sequence[Probe]:
        """Those of the encoder, and one whose last tokens are hidden."""
        return [*super().probes(), Probe(self._probe_ids(4, 12), num_hidden=NUM_HIDDEN)]

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """`[num_tokens, hidden_size]` by the stock module."""
        return self._head(self._stock_states(probe).float())

    @staticmethod
    def load_head(folder: Path, stock: PreTrainedModel) -> Head:
        """The projections behind the encoder, in order."""
        width: int = cast(Any, stock.config).hidden_size
        form = colbert_form(CheckpointFiles(folder))
        if form == "HF_ColBERT":
            return DenseHead.of([stanford_projection(folder)], stock.device, width, is_among_others=True)
        return DenseHead.of(read_token_modules(folder, is_pylates=form == "PyLate").dense, stock.device, width)

    @staticmethod
    def read_elsewhere(folder: Path) -> tuple[str, ...]:
        """ColBERT's own projection lies among the encoder's weights."""
        return (PROJECTION,) if colbert_form(CheckpointFiles(folder)) == "HF_ColBERT" else ()
