"""Text encoders and decoders as the engine runs them: the stock module's own layers over a packed batch.

Prompts stand one behind the other without padding, sorted by length; each position restarts, and attention is our own
(`packed_attention.py`), so that a batch costs its tokens and no mask is built. A stock module whose attention cannot be
replaced (MPNet adds relative positions to its scores) runs prompts of equal length together instead: no padding and no
mask either. What is computed is the stock module's in both ways; pooling and Dense modules follow.

On a CPU it runs a few prompts at a time, so that what a layer makes is still in the processor's cache when the next
call reads it. Where `prepack` applies, products are packed ones, and BERT's architecture has a forward of our own.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch.nn import functional
from transformers import PreTrainedModel

from cenote_kernels import PoolingMode, pool
from service.checkpoint.config_files import STEADY_ROPES
from service.errors import ModelError
from service.model.embedding_model import Grid, Probe
from service.model.encoder.encoder import SHORT_THREADS, Encoder
from service.model.encoder.stock_weights import stock_weights
from service.model.linear.products import PackedProducts, pack_modules, packed_products
from service.model.linear.threads import one_thread
from service.model.load import load_stock
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Group, Segments, cut_parts, plan_segments
from service.model.stock.dense_head import DenseHead, Head

BEHIND_PADDING = ("xlm-roberta", "roberta", "camembert", "xlm-roberta-xl")
"""Model types whose positions start behind the padding's number, as fairseq counts them."""
GROUP_TOKENS = 4096
"""Tokens of one forward of prompts of equal length: it makes scores of all pairs of tokens, for each head."""
PART_TOKENS = 1536
"""Tokens that go through all layers together on a CPU: no tensor has 32 MiB, from where the heap keeps none."""
ONE_THREAD_PRODUCTS = 300_000_000
"""Multiplications of a lone prompt up to which one thread runs it instead of many: 28 tokens of MiniLM. Where the cores
have other work, threads wait for each other at every product."""
MAX_PROBE_TOKENS = 1024
"""Longest prompt of the known-answer check: the stock side's scores grow with its square. Wider windows go unseen."""
NUM_PADS = 3
"""Padding of the stock side's prompts in the known-answer check, so that its masks are looked at too."""


class TextEncoder:
    """An `EmbeddingModel` without images, on the layers of a stock module.

    Attributes:
        is_packed: whether prompts of different lengths go through it together.
    """

    def __init__(self, stock: PreTrainedModel, pooling: PoolingMode, head: Head) -> None:
        self.stock = stock
        self.hidden_size = head.hidden_size
        self.num_parameters = sum(parameter.numel() for parameter in stock.parameters()) + head.num_parameters
        self.device = stock.device
        self.dtype = stock.dtype
        self.placeholder_ids: dict[str, int] = {}
        self.tower = None
        self.patch_size = 1
        self.is_packed = bool(getattr(stock, "_supports_attention_backend", False))
        self._config: Any = stock.config
        self._pad_id = int(getattr(self._config, "pad_token_id", None) or 0)
        self._first_position = self._pad_id + 1 if self._config.model_type in BEHIND_PADDING else 0
        if self.is_packed:
            self._config._attn_implementation = PACKED
        self._pooling: PoolingMode = pooling
        self._head = head
        self._encoder: Encoder | None = None
        self._num_in_products = 0
        self._products: PackedProducts | None = None

    @classmethod
    def load(
        cls,
        folder: Path,
        device: torch.device,
        dtype: torch.dtype | None,
        pooling: PoolingMode,
        model_class: str = "AutoModel",
    ) -> "TextEncoder":
        """From a checkpoint's folder; see `load_stock`. Poolers of the stock module are not used and may be missing.

        Raises:
            ModelError: tensors are missing, or a prompt's vector would depend on the others of its batch.
        """
        stock_class = cast(type[PreTrainedModel], getattr(transformers, model_class))
        elsewhere = cls.read_elsewhere(folder)
        stock = load_stock(stock_class, folder, device, dtype, attention=None, may_lack="pooler.", elsewhere=elsewhere)
        if getattr(stock, "pooler", None) is not None:
            cast(Any, stock).pooler = None
        if unsteady := sorted(_rope_types(stock.config) - {*STEADY_ROPES}):
            raise ModelError(
                "internal_error", f"config.json has rope type {unsteady[0]}; supported: {', '.join(STEADY_ROPES)}"
            )
        return cls(stock, pooling, cls.load_head(folder, stock))

    @staticmethod
    def read_elsewhere(folder: Path) -> tuple[str, ...]:
        """Names of tensors that the stock module does not know, and that `load_head` reads."""
        return ()

    @staticmethod
    def load_head(folder: Path, stock: PreTrainedModel) -> Head:
        """What stands behind the pooled vector: the folder's Dense modules."""
        return DenseHead.load(folder, stock.device, cast(Any, stock.config).hidden_size)

    def prepack(self) -> bool:
        """Bring the matrices of linear layers into another layout; the stock forward may not be run any more.

        Returns:
            Whether it did: not where there are no such products, nor in bfloat16, nor for prompts that run by equal
            lengths, since every number of rows comes up there.
        """
        products = packed_products(self.device, self.dtype)
        if not self.is_packed or products is None or self.dtype != torch.float32:
            return False
        if (weights := stock_weights(self.stock)) is None:
            pack_modules(self.stock, products)
        else:
            self._encoder = Encoder(weights, products)
            self._num_in_products = self._encoder.num_in_products
        self._products = products
        return True

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[1, num_tokens]`, from 0, or from behind the padding's number."""
        return np.arange(self._first_position, self._first_position + num_tokens, dtype=np.int64)[None]

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """No text model is given images; the front refuses them.

        Raises:
            ModelError: always.
        """
        raise ModelError("internal_error", "this model takes text only; the front should have refused the image")

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``dense(pool(stock(batch)))``."""
        lengths = batch.segment_lengths
        if self.is_packed and len(lengths) == 1:
            return self._embed_alone(batch)
        states, plan = self._ordered(batch)
        if batch.has_spans:
            return self._pooled_by_spans(states, plan.row, batch.vector_spans())
        bounds = torch.tensor([0, *np.cumsum([lengths[i] for i in plan.order])], device=self.device)
        order = torch.from_numpy(np.argsort(plan.order)).to(self.device)
        return self._pooled(states, bounds)[order]

    def _ordered(self, batch: PackedBatch) -> tuple[torch.Tensor, Segments]:
        """Hidden states in attention's order, `[total_tokens, width]`, and that order."""
        lengths = batch.segment_lengths
        plan = plan_segments(
            batch.token_ids.numpy(),
            lengths,
            batch.visual_index.numpy(),
            may_share=False,
            num_hidden=batch.num_masked,
        )
        tokens = torch.from_numpy(plan.tokens)
        token_ids = batch.token_ids[tokens].to(self.device)
        if self.is_packed:
            return self._packed(token_ids, batch.position_ids[:, tokens], plan), plan
        return self._grouped(token_ids, plan), plan

    def _embed_alone(self, batch: PackedBatch) -> torch.Tensor:
        """The same for one prompt, which needs no order; a short one's products are too small for many threads."""
        num_tokens = len(batch.token_ids)
        bounds = torch.tensor([0, num_tokens], device=self.device)
        is_short = self._num_in_products * num_tokens <= ONE_THREAD_PRODUCTS
        is_short = is_short and self._encoder is not None and not self._encoder.is_one_call(num_tokens)
        with one_thread() if is_short and torch.get_num_threads() > SHORT_THREADS else nullcontext():
            group = Group(0, 0, num_tokens, 1, num_tokens, batch.plans[0].num_masked if batch.plans else 0)
            states = self._part(batch.token_ids.to(self.device), batch.position_ids.to(self.device), (group,))
            if batch.has_spans:
                return self._pooled_by_spans(states, np.arange(num_tokens), batch.vector_spans())
            return self._pooled(states, bounds)

    def _pooled_by_spans(
        self, states: torch.Tensor, row: NDArray[np.int64], spans: Sequence[tuple[int, int]]
    ) -> torch.Tensor:
        """Raw vectors, `[num_spans, hidden_size]`, of the tokens from first to behind the last; `row` finds each."""
        rows = np.concatenate([row[start:stop] for start, stop in spans])
        bounds = torch.tensor([0, *np.cumsum([stop - start for start, stop in spans])], device=self.device)
        return self._pooled(states[torch.from_numpy(rows).to(self.device)], bounds)

    def _pooled(self, states: torch.Tensor, bounds: torch.Tensor) -> torch.Tensor:
        """Raw vectors, `[num_prompts, hidden_size]`, of prompts whose states lie one behind the other."""
        return self._head(pool(states, bounds, self._pooling))

    def _packed(self, token_ids: torch.Tensor, position_ids: torch.Tensor, plan: Segments) -> torch.Tensor:
        """A few prompts in one forward, on a GPU all of them; `[total_tokens, width]`."""
        max_tokens = PART_TOKENS if self.device.type == "cpu" else len(token_ids)
        position_ids = position_ids.to(self.device)
        states = [
            self._part(token_ids[part.start : part.stop], position_ids[:, part.start : part.stop], part.groups)
            for part in cut_parts(plan.groups, max_tokens)
        ]
        return states[0] if len(states) == 1 else torch.cat(states)

    def _part(self, token_ids: torch.Tensor, position_ids: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        """One forward, `[num_tokens, width]`, filled up to a number of tokens that there is code for."""
        num_tokens = len(token_ids)
        num_filling = self._products.fill(num_tokens) - num_tokens if self._products is not None else 0
        if num_filling:
            token_ids, position_ids = (functional.pad(one, (0, num_filling)) for one in (token_ids, position_ids))
        return self._forward(token_ids, position_ids, groups)[:num_tokens]

    def _forward(
        self, token_ids: torch.Tensor, position_ids: torch.Tensor, groups: Sequence[Group], **inputs: torch.Tensor
    ) -> torch.Tensor:
        """Prompts in one forward, `[num_tokens, width]`; `inputs` are more of the stock module's."""
        if self._encoder is not None:
            return self._encoder.forward(token_ids, position_ids[0], groups)
        states: torch.Tensor = self.stock(
            input_ids=token_ids[None],
            position_ids=position_ids,
            attention_mask=None,
            use_cache=False,
            packing=groups,
            **inputs,
        ).last_hidden_state
        return states[0]

    def _grouped(self, token_ids: torch.Tensor, plan: Segments) -> torch.Tensor:
        """Prompts of equal length in one forward each, `[total_tokens, width]`."""
        states: list[torch.Tensor] = []
        for group in plan.groups:
            prompts = token_ids[group.start : group.stop].view(group.num_segments, group.num_tokens)
            parts = torch.split(prompts, max(1, GROUP_TOKENS // group.num_tokens))
            states += [self.stock(input_ids=ids).last_hidden_state.flatten(0, 1) for ids in parts]
        return torch.cat(states)

    def probes(self) -> Sequence[Probe]:
        """Two lengths, one of them twice, and one prompt that is longer than any window."""
        most = self._config.max_position_embeddings - self._first_position - NUM_PADS
        window = max((getattr(module, "sliding_window", None) or 0 for module in self.stock.modules()), default=0)
        lengths = (12, 7, 12, min(window + 20, MAX_PROBE_TOKENS))
        return [Probe(self._probe_ids(i, min(length, most))) for i, length in enumerate(lengths)]

    def _probe_ids(self, first: int, num_tokens: int) -> list[int]:
        ids = (
            self._pad_id + 1 + (first * 5 + place * 3) % (self._config.vocab_size - 1) for place in range(num_tokens)
        )
        return [token_id % self._config.vocab_size for token_id in ids]

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """The stock side computes its own positions and masks, with plain attention and with padding."""
        hidden = self._stock_states(probe)
        return self._pooled(hidden, torch.tensor([0, len(hidden)], device=self.device))[0]

    def _stock_states(self, probe: Probe) -> torch.Tensor:
        """Hidden states of a probe by the stock module, `[num_tokens, width]`."""
        num_tokens = len(probe.token_ids)
        ids = torch.tensor([[*probe.token_ids, *[self._pad_id] * NUM_PADS]], device=self.device)
        mask = torch.arange(ids.shape[1], device=self.device)[None] < num_tokens - probe.num_hidden
        with stock_attention("eager", self._config):
            states = self.stock(input_ids=ids, attention_mask=mask.long(), use_cache=False).last_hidden_state
        return cast(torch.Tensor, states)[0, :num_tokens]


def _rope_types(config: object) -> set[str]:
    """Rope types of a configuration, whether it has one set of parameters or one for each type of layer."""
    parameters = getattr(config, "rope_parameters", None) or {}
    sets = [parameters] if "rope_type" in parameters else [one for one in parameters.values() if isinstance(one, dict)]
    return {str(one.get("rope_type", "default")) for one in sets}
