"""SPLADE as the engine runs it: BERT's packed encoder, and the masked language model's head pooled over each text.

The logits of a batch are never there together: 8,192 tokens of 30,522 entries are a gigabyte. The head runs over a
chunk of tokens, whatever texts they are of, and each text takes its part of the chunk before the next is computed.

Source: Formal et al. 2021 (arXiv 2109.10086); sentence-transformers 6.2 `SpladePooling`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import torch
from torch.nn.functional import pad
from transformers import (
    AutoModelForMaskedLM,
    BertForMaskedLM,
    DistilBertForMaskedLM,
    ModernBertForMaskedLM,
    PreTrainedModel,
)

from service.checkpoint.sparse.splade_files import SpladePooling, read_splade
from service.model.embedding_model import Probe
from service.model.linear.products import PackedModule, PackedProducts, as_many, pack_modules
from service.model.load import load_stock
from service.model.packed.packed_attention import stock_attention
from service.model.stock.text_encoder import NUM_PADS, TextEncoder

CHUNK_BYTES = 24 << 20
"""Of logits at once on a CPU, below 32 MiB, from where the heap keeps none: 192 tokens of BERT's vocabulary."""
GPU_CHUNK_BYTES = 256 << 20
FLOAT_BYTES = 4

Logits = Callable[[torch.Tensor], torch.Tensor]
"""Hidden states `[num_tokens, width]` to `[num_tokens, vocabulary]`."""

LOGITS: Mapping[type[Any], Callable[[Any], Logits]] = {
    BertForMaskedLM: lambda whole: whole.cls,
    DistilBertForMaskedLM: lambda whole: (
        lambda states: whole.vocab_projector(whole.vocab_layer_norm(whole.activation(whole.vocab_transform(states))))
    ),
    ModernBertForMaskedLM: lambda whole: lambda states: whole.decoder(whole.head(states)),
}
"""The stock head by the stock class."""


class VocabularyHead:
    """A `Head` in its sizes alone: it reads the states of all tokens, and no pooled vector.

    Attributes:
        hidden_size: entries of the vocabulary.
        num_parameters: that are not the encoder's too; the decoder's matrix is tied to its embeddings.
        logits: the stock head.
        products: its layers, once they are packed.
    """

    def __init__(self, whole: PreTrainedModel) -> None:
        shared = {id(one) for one in whole.base_model.parameters()}
        self.hidden_size = int(cast(Any, whole.config).vocab_size)
        self.num_parameters = sum(one.numel() for one in whole.parameters() if id(one) not in shared)
        self.logits = LOGITS[type(whole)](whole)
        self.products: PackedProducts | None = None

    def __call__(self, vectors: torch.Tensor) -> torch.Tensor:
        """`[num_tokens, width]` to `[num_tokens, hidden_size]`, float32."""
        num_tokens = len(vectors)
        if self.products is not None:
            vectors = pad(vectors, (0, 0, 0, self.products.fill(num_tokens) - num_tokens))
        return self.logits(vectors)[:num_tokens].float()


class Splade(TextEncoder):
    """An `EmbeddingModel` whose vector has a weight for each entry of the vocabulary, most of them zero.

    Attributes:
        whole: the masked language model.
        how: its logits become weights.
    """

    def __init__(self, whole: PreTrainedModel, how: SpladePooling) -> None:
        """Run encoder and head of `whole`, a masked language model of one of the classes in `LOGITS`."""
        self._vocabulary = VocabularyHead(whole)
        super().__init__(cast(PreTrainedModel, whole.base_model), "cls", self._vocabulary)
        self.whole = whole
        self.how = how

    @classmethod
    def load(  # type: ignore[override]  # its class and its pooling are no choice
        cls, folder: Path, device: torch.device, dtype: torch.dtype | None
    ) -> "Splade":
        """From a checkpoint's folder; see `load_stock`."""
        stock_class = cast(type[PreTrainedModel], AutoModelForMaskedLM)
        return cls(load_stock(stock_class, folder, device, dtype, attention=None), read_splade(folder))

    def prepack(self) -> bool:
        """See `TextEncoder.prepack`; the head's layers too, which cost as much as a small encoder."""
        if not super().prepack() or self._products is None:
            return False
        for name, child in list(self.whole.named_children()):
            if type(child) is torch.nn.Linear:
                setattr(self.whole, name, PackedModule(child, self._products))
            elif child is not self.whole.base_model:
                pack_modules(child, self._products)
        self._vocabulary.products = self._products
        return True

    def _pooled(self, states: torch.Tensor, bounds: torch.Tensor) -> torch.Tensor:
        """Weights, `[num_prompts, vocabulary]`."""
        most = CHUNK_BYTES if self.device.type == "cpu" else GPU_CHUNK_BYTES
        whole = as_many if self._products is None else self._products.whole
        num_at_once = whole(max(1, most // (self.hidden_size * FLOAT_BYTES)))
        return pool_logits(states, bounds.tolist(), self._head, self.hidden_size, self.how, num_at_once)

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """All of the stock model's own, with plain attention and with padding; every logit at once."""
        ids = torch.tensor([[*probe.token_ids, *[self._pad_id] * NUM_PADS]], device=self.device)
        mask = (torch.arange(ids.shape[1], device=self.device) < len(probe.token_ids)).long()[None]
        with stock_attention("eager", self._config):
            logits = cast(Any, self.whole)(input_ids=ids, attention_mask=mask).logits
        weights = weigh(logits[0, : len(probe.token_ids)].float(), self.how)
        return weights.amax(0) if self.how.strategy == "max" else weights.sum(0)


def pool_logits(
    states: torch.Tensor,
    bounds: Sequence[int],
    logits: Logits,
    num_entries: int,
    how: SpladePooling,
    num_at_once: int,
) -> torch.Tensor:
    """Weights of each text, `[num_texts, num_entries]`, float32.

    The largest weight is that of the largest logit, since no activation falls: with `max` it is applied once.

    Args:
        states: `[num_tokens, width]`, texts one behind the other.
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
