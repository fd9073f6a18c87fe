"""Weights of the vocabulary's entries, for sparse vectors: a masked language model's head, pooled over each text.

The logits of a batch are never there together: 8,192 tokens of 30,522 entries are a gigabyte. The head runs over a
chunk of tokens, whatever texts they are of, and each text takes its part of the chunk before the next is computed.

Queries that do not go through the model have each token's own weight, by a table.

Source: Formal et al. 2021 (arXiv 2109.10086); Geng et al. 2024 (arXiv 2411.04403); sentence-transformers 6.2
`SpladePooling`, `SparseStaticEmbedding`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from torch.nn.functional import pad
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.sparse_files import SpladePooling
from service.model.backbone import StockRun
from service.model.heads.head import Head, HeadRows, Ranges
from service.model.linear.products import TORCHS, PackedModule, PackedProducts, Products, pack_modules
from service.model.states import States
from service.outputs.block import Rows
from service.outputs.plan import TokenPlan
from service.outputs.sparse import SPARSE, SparseAsk, pack_sparse, unpack_sparse

CHUNK_BYTES = 24 << 20
"""Of logits at once on a CPU, below 32 MiB, from where the heap keeps none: 192 tokens of BERT's vocabulary."""
GPU_CHUNK_BYTES = 256 << 20
FLOAT_BYTES = 4

Logits = Callable[[torch.Tensor], torch.Tensor]
"""Hidden states `[num_tokens, width]` to `[num_tokens, vocabulary]`."""

LOGITS: Mapping[str, Callable[[Any], Logits]] = {
    "BertForMaskedLM": lambda whole: whole.cls,
    "DistilBertForMaskedLM": lambda whole: (
        lambda states: whole.vocab_projector(whole.vocab_layer_norm(whole.activation(whole.vocab_transform(states))))
    ),
    "GteForMaskedLM": lambda whole: whole.lm_head,
    "ModernBertForMaskedLM": lambda whole: lambda states: whole.decoder(whole.head(states)),
}
"""The stock head by the stock class."""


class SparseHead(Head):
    """A `Head`: a weight for each entry of the vocabulary, most of them zero.

    Args:
        whole: the masked language model, of one of the classes in `LOGITS`.
        how: its logits become weights.
        table: `[vocabulary]`, float32, weights of tokens in prompts that need no forward; empty where all do.

    Attributes:
        hidden_size: entries of the vocabulary.
        num_parameters: that are not the encoder's too, the table's among them; the decoder's matrix is tied to its
            embeddings.
    """

    kind = "sparse"
    are_scores = True

    def __init__(self, whole: PreTrainedModel, how: SpladePooling, table: torch.Tensor) -> None:
        shared = {id(one) for one in whole.base_model.parameters()}
        self.hidden_size = int(cast(Any, whole.config).vocab_size)
        own = sum(one.numel() for one in whole.parameters() if id(one) not in shared)
        self.num_parameters = own + table.numel()
        self.looks_up = len(table) > 0
        self.logits = LOGITS[type(whole).__name__](whole)
        self._whole, self._how, self._table = whole, how, table
        self._products: Products = TORCHS

    def pack(self, products: PackedProducts) -> None:
        """Its layers too, which cost as much as a small encoder."""
        for name, child in list(self._whole.named_children()):
            if type(child) is torch.nn.Linear:
                setattr(self._whole, name, PackedModule(child, products))
            elif child is not self._whole.base_model:
                pack_modules(child, products)
        self._products = products

    @property
    def whole_ask(self) -> SparseAsk:
        """See `Head.whole_ask`."""
        return SparseAsk(dimensions=self.hidden_size)

    def num_rows(self, plan: TokenPlan) -> int:
        """One."""
        return 1

    def rows(self, states: States, plans: Sequence[TokenPlan]) -> torch.Tensor:
        """See `Head.rows`."""
        most = CHUNK_BYTES if states.rows.device.type == "cpu" else GPU_CHUNK_BYTES
        num_at_once = self._products.whole(max(1, most // (self.hidden_size * FLOAT_BYTES)))
        found = pool_logits(states.rows, states.bounds, self.chunk, self.hidden_size, self._how, num_at_once)
        return states.by_prompt(found)

    def look_up(self, prompts: Sequence[torch.Tensor]) -> torch.Tensor:
        """The table's weights of the tokens in each prompt."""
        rows = self._table.new_zeros(len(prompts), self.hidden_size)
        for row, token_ids in zip(rows, prompts, strict=True):
            present = token_ids.to(row.device)
            row[present] = self._table[present]
        return rows

    def chunk(self, states: torch.Tensor) -> torch.Tensor:
        """Logits of some tokens, `[num_tokens, width]` to `[num_tokens, vocabulary]`, float32."""
        num_tokens = len(states)
        if num_padding := self._products.fill(num_tokens) - num_tokens:
            states = pad(states, (0, 0, 0, num_padding))
        return self.logits(states)[:num_tokens].float()

    def stock_rows(self, run: StockRun) -> torch.Tensor:
        """From every logit at once."""
        assert isinstance(run, torch.Tensor)  # its class has a head
        weights = weigh(run.float(), self._how)
        return (weights.amax(0) if self._how.strategy == "max" else weights.sum(0))[None]

    def finish(
        self, rows: HeadRows, plans: Sequence[TokenPlan], asks: Sequence[SparseAsk], ranges: Ranges
    ) -> list[Rows | None]:
        """See `Head.finish`."""
        return [row if row is None else {SPARSE: row} for row in self.keep(rows)]

    def keep(self, rows: HeadRows) -> list[bytes | None]:
        """The entries that are not zero; None where a weight is not finite."""
        is_finite = rows.rows.isfinite().all(dim=1).tolist()
        found = [(one, np.flatnonzero(one)) for one in rows.rows.cpu().numpy()]
        return [pack_sparse(at, one[at]) if valid else None for (one, at), valid in zip(found, is_finite, strict=True)]

    def restore(self, kept: Sequence[bytes]) -> HeadRows:
        """See `Head.restore`."""
        weights = np.zeros((len(kept), self.hidden_size), np.float32)
        for one, row in zip(weights, kept, strict=True):
            indices, values = unpack_sparse(row)
            one[indices] = values
        return HeadRows(torch.from_numpy(weights), [1] * len(kept))


def pool_logits(
    states: torch.Tensor, bounds: Sequence[int], logits: Logits, num_entries: int, how: SpladePooling, num_at_once: int
) -> torch.Tensor:
    """Weights of each text, `[num_texts, num_entries]`, float32.

    The largest weight is that of the largest logit, since no activation falls: with `max` it is applied once.

    Args:
        states: `[num_tokens, width]`, texts one after the other.
        bounds: where they begin, and the end of the last.
        num_at_once: tokens whose logits are there at once.
    """
    pooled = states.new_zeros((len(bounds) - 1, num_entries), dtype=torch.float32)
    texts = list(pairwise(bounds))
    first = 0
    for start in range(0, bounds[-1], num_at_once):
        stop = min(start + num_at_once, bounds[-1])
        chunk = logits(states[start:stop])
        if how.strategy == "sum":
            chunk = weigh(chunk, how)
        while texts[first][1] <= start:
            first += 1
        for index in range(first, len(texts)):
            begin, end = texts[index]
            if begin >= stop:
                break
            rows = chunk[max(begin, start) - start : min(end, stop) - start]
            if how.strategy == "sum":
                pooled[index] += rows.sum(0)
            else:
                torch.maximum(pooled[index], rows.amax(0), out=pooled[index])
    return pooled if how.strategy == "sum" else weigh(pooled, how)


def weigh(logits: torch.Tensor, how: SpladePooling) -> torch.Tensor:
    """``log1p(relu(logits))``, or ``log1p`` of that."""
    weights = logits.relu().log1p_()
    return weights.log1p_() if how.activation == "log1p_relu" else weights
