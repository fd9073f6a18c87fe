"""Text encoders and decoders as the engine runs them: the stock module's own layers over a packed batch.

Prompts stand one after the other without padding, sorted by length; each position restarts, and attention is our own
(`packed_attention.py`), so that a batch costs its tokens and no mask is built. A stock module whose attention cannot be
replaced (MPNet adds relative positions to its scores), or that carries a state from token to token (Qwen3.5), runs
prompts of equal length together instead: no padding and no mask either. What is computed is the stock module's in both
ways.

On a CPU it runs a few prompts at a time, so that what a layer makes is still in the processor's cache when the next
call reads it. Where `prepack` applies, products are packed ones, and BERT's architecture has a forward of our own. So
has Qwen3's, whose layers are those of Qwen3-VL's decoder: prompts compute what they begin with once, and where the last
token is pooled, the last layer runs for that token alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.config_files import STEADY_ROPES
from service.errors import ModelError
from service.model.adapted import adapt
from service.model.backbone import Backbone, Grid, Needs, Probe, StockRun
from service.model.encoder.encoder import SHORT_THREADS, Encoder
from service.model.encoder.stock_weights import stock_weights
from service.model.linear.cpu_backend import packed_products
from service.model.linear.products import TORCHS, PackedProducts, Products, pack_modules
from service.model.load import load_stock
from service.model.packed import varlen_attention
from service.model.packed.captured import CapturedForwards, Inputs
from service.model.packed.graph_cache import GraphCache
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Group, Segments, cut_parts, plan_segments
from service.model.packed.varlen_attention import SegmentBounds
from service.model.qwen3_vl.captured_language import load_decoder
from service.model.qwen3_vl.language import LanguageModel
from service.model.states import States
from service.model.stock.stock_class import stock_class
from service.outputs.plan import TokenPlan

BEHIND_PADDING = ("xlm-roberta", "roberta", "camembert", "xlm-roberta-xl")
"""Model types whose positions start after the padding's number, as fairseq counts them."""
GROUP_TOKENS = 4096
"""Tokens of one forward of prompts of equal length: it makes scores of all pairs of tokens, for each head."""
PART_TOKENS = 1536
"""Tokens that go through all layers together on a CPU: no tensor has 32 MiB, from where the heap keeps none."""
ONE_THREAD_PRODUCTS = 300_000_000
"""Multiplications of a lone prompt up to which one thread runs it instead of many: 28 tokens of MiniLM. Where the cores
have other work, threads wait for each other at every product."""
MAX_PROBE_TOKENS = 1024
"""Longest prompt of the known-answer check: the stock side's scores grow with its square. Wider windows go unseen."""
NUM_MASKED = 5
"""Hidden tokens of the known-answer check's prompt that has some."""
NUM_PADS = 3
"""Padding of the stock side's prompts in the known-answer check, so that its masks are looked at too."""


class TextEncoder(Backbone):
    """A `Backbone` without images, on the layers of a stock module.

    Args:
        whole: the stock module with a head of its own, which the known-answer check runs; None where `stock` is whole.
        separator: of a pair; tokens after the first one are of BERT's second type. None: all are of one type.
        masks_tokens: prompts may end in tokens that no token attends to (`TokenPlan.num_masked`).

    Attributes:
        is_packed: whether prompts of different lengths go through it together.
        language: our decoder on the stock module's weights; None where its layers are others.
    """

    def __init__(
        self,
        stock: PreTrainedModel,
        whole: PreTrainedModel | None = None,
        separator: int | None = None,
        *,
        masks_tokens: bool = False,
    ) -> None:
        super().__init__(stock)
        self.stock = stock
        self.is_packed = bool(getattr(stock, "_supports_attention_backend", False))
        self._config: Any = stock.config
        self.width: int = self._config.hidden_size
        self._whole, self._separator, self._masks_tokens = whole, separator, masks_tokens
        self._pad_id = int(getattr(self._config, "pad_token_id", None) or 0)
        self._first_position = self._pad_id + 1 if self._config.model_type in BEHIND_PADDING else 0
        if self.is_packed:
            self._config._attn_implementation = PACKED
        is_ours = self._config.model_type == "qwen3" and _is_plain(stock.config) and not masks_tokens
        self.language = load_decoder(stock, adapt(TORCHS, stock)) if is_ours else None
        self._encoder: Encoder | None = None
        self._num_in_products = 0
        self._products: Products = TORCHS
        self._captured = CapturedForwards(
            self._over, GraphCache(self.device), self._layer_numbers(), gives_prompts=False
        )

    @classmethod
    def load(
        cls,
        folder: Path,
        device: torch.device,
        dtype: torch.dtype | None,
        model_class: str = "AutoModel",
        *,
        elsewhere: Sequence[str] = (),
        masks_tokens: bool = False,
    ) -> "TextEncoder":
        """From a checkpoint's folder; see `load_stock`. Poolers of the stock module are not used and may be missing.

        Raises:
            ModelError: tensors are missing, or a prompt's vector would depend on the others of its batch.
        """
        kind = stock_class(model_class)
        stock = load_stock(kind, folder, device, dtype, attention=None, may_lack="pooler.", elsewhere=elsewhere)
        if getattr(stock, "pooler", None) is not None:
            cast(Any, stock).pooler = None
        if unsteady := sorted(_rope_types(stock.config) - {*STEADY_ROPES}):
            raise ModelError(
                "internal_error", f"config.json has rope type {unsteady[0]}; supported: {', '.join(STEADY_ROPES)}"
            )
        return cls(stock, masks_tokens=masks_tokens)

    def prepack(self) -> PackedProducts | None:
        """See `Backbone.prepack`.

        Not in bfloat16 but for our decoder, nor for prompts that run by equal lengths, since every number of rows comes
        up there.
        """
        products = packed_products(self.device, self.dtype)
        if products is None:
            return None
        products = adapt(products, self._whole or self.stock)
        if self.language is not None:
            self.language = None  # it holds the matrices that are about to be given back
            self.language = LanguageModel(self.stock, products=products)
            return products
        if not self.is_packed or self.dtype != torch.float32:
            return None
        if (weights := stock_weights(self.stock)) is None:
            pack_modules(self.stock, products)
        else:
            self._encoder = Encoder(weights, products)
            self._num_in_products = self._encoder.num_in_products
        self._products = products
        return products

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[1, num_tokens]`, from 0, or from after the padding's number."""
        return np.arange(self._first_position, self._first_position + num_tokens, dtype=np.int64)[None]

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """See `Backbone.states`; all but our decoder give those of all tokens."""
        if self.language is not None:
            lengths = [1] * len(batch.segment_lengths) if needs == "last" else batch.segment_lengths
            return States(self.language.forward(batch, last_only=needs == "last"), lengths)
        if self._separator is not None:
            types = [token_types(ids, self._separator) for ids in torch.split(batch.token_ids, batch.segment_lengths)]
            batch = replace(batch, position_ids=torch.cat([batch.position_ids, torch.cat(types)[None]]))
        if self._captured.max_tokens and not any(plan.num_masked for plan in batch.plans):
            return States(self._captured.run(batch, lambda: self._in_order(batch)), batch.segment_lengths)
        return self._plain(batch)

    def _layer_numbers(self) -> int:
        """Of the matrices of a layer; 0 where no graph can hold a forward: see `CapturedForwards`."""
        is_ours = self.language is not None or self.adapted
        if is_ours or not self.is_packed or not varlen_attention.takes(8, self.dtype, self.device):
            return 0
        numbers = sum(one.weight.numel() for one in self.stock.modules() if isinstance(one, torch.nn.Linear))
        return numbers // int(getattr(self._config, "num_hidden_layers", 1))

    def _in_order(self, batch: PackedBatch) -> torch.Tensor:
        states = self._plain(batch)
        return states.by_token(states.rows)

    def _plain(self, batch: PackedBatch) -> States:
        lengths = batch.segment_lengths
        if self.is_packed and len(lengths) == 1:
            return States(self._alone(batch), lengths)
        plan = plan_segments(
            batch.token_ids.numpy(), lengths, batch.visual.index.numpy(), may_share=False, plans=batch.plans
        )
        tokens = torch.from_numpy(plan.tokens)
        token_ids = batch.token_ids[tokens].to(self.device)
        run = self._packed if self.is_packed else self._grouped
        return States(run(token_ids, batch.position_ids[:, tokens], plan), [lengths[i] for i in plan.order], plan.order)

    def _alone(self, batch: PackedBatch) -> torch.Tensor:
        """The same for one prompt, which needs no order; a short one's products are too small for many threads."""
        num_tokens = len(batch.token_ids)
        is_short = self._num_in_products * num_tokens <= ONE_THREAD_PRODUCTS
        is_short = is_short and self._encoder is not None and not self._encoder.is_one_call(num_tokens)
        with one_thread() if is_short and torch.get_num_threads() > SHORT_THREADS else nullcontext():
            num_keys = num_tokens - (batch.plans[0].num_masked if batch.plans else 0)
            group = Group(0, 0, num_tokens, 1, num_tokens, num_keys)
            return self._part(batch.token_ids.to(self.device), batch.position_ids.to(self.device), (group,))

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
        num_padding = self._products.fill(num_tokens) - num_tokens
        if num_padding:
            token_ids, position_ids = (functional.pad(one, (0, num_padding)) for one in (token_ids, position_ids))
        return self._forward(token_ids, position_ids, groups)[:num_tokens]

    def _over(self, inputs: Inputs) -> torch.Tensor:
        return self._forward(inputs.token_ids, inputs.position_ids, inputs.bounds)

    def _forward(
        self, token_ids: torch.Tensor, position_ids: torch.Tensor, groups: Sequence[Group] | SegmentBounds
    ) -> torch.Tensor:
        """Prompts in one forward, `[num_tokens, width]`; types are a second row of `position_ids`, if there are any."""
        types = position_ids[1:]
        if self._encoder is not None and not isinstance(groups, SegmentBounds):
            places = position_ids[0]
            if len(types):
                places = places + types[0] * self._config.max_position_embeddings
            return self._encoder.forward(token_ids, places, groups)
        more = {"token_type_ids": types} if len(types) else {}
        states: torch.Tensor = self.stock(
            input_ids=token_ids[None],
            position_ids=position_ids[:1],
            attention_mask=None,
            use_cache=False,
            packing=groups,
            **more,
        ).last_hidden_state
        return states[0]

    def _grouped(self, token_ids: torch.Tensor, position_ids: torch.Tensor, plan: Segments) -> torch.Tensor:
        """Prompts of equal length in one forward each, `[total_tokens, width]`; types as `_forward` has them."""
        states: list[torch.Tensor] = []
        types = position_ids[1:].to(self.device)
        for group in plan.groups:
            num_tokens = group.num_tokens
            for start in range(group.start, group.stop, step := max(1, GROUP_TOKENS // num_tokens) * num_tokens):
                part = slice(start, min(start + step, group.stop))
                more = {"token_type_ids": types[0, part].view(-1, num_tokens)} if len(types) else {}
                made = self.stock(input_ids=token_ids[part].view(-1, num_tokens), **more).last_hidden_state
                states.append(made.flatten(0, 1))
        return torch.cat(states)

    def probes(self) -> Sequence[Probe]:
        """Two lengths, one of them twice, and one prompt that is longer than any window.

        With our decoder two more that begin as the first does; where tokens may be hidden, one whose last are.
        """
        positions = getattr(self._config, "max_position_embeddings", MAX_PROBE_TOKENS)  # T5 has no last one
        most = positions - self._first_position - NUM_PADS
        windowed = (self._config, *self.stock.modules())  # Mistral's layers ask the configuration
        window = max(getattr(one, "sliding_window", None) or 0 for one in windowed)
        lengths = (12, 7, 12, min(window + 20, MAX_PROBE_TOKENS))
        plans = [TokenPlan(self._probe_ids(i, min(length, most))) for i, length in enumerate(lengths)]
        if self.language is not None:
            begin, others = plans[0].ids, plans[1].ids
            plans += [TokenPlan([*begin, *others]), TokenPlan([*begin, *reversed(others)])]
        if self._masks_tokens:
            plans.append(TokenPlan(self._probe_ids(4, 12), num_masked=NUM_MASKED))
        return [Probe(plan) for plan in plans]

    def _probe_ids(self, first: int, num_tokens: int) -> list[int]:
        ids = (
            self._pad_id + 1 + (first * 5 + place * 3) % (self._config.vocab_size - 1) for place in range(num_tokens)
        )
        found = [token_id % self._config.vocab_size for token_id in ids]
        if self._separator is not None:
            found[num_tokens // 2] = self._separator
        return found

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> StockRun:
        """The stock side computes its own positions and masks, with plain attention and with padding."""
        num_tokens = len(probe.plan.ids)
        num_pads = 0 if getattr(self.stock, "reads_padding", False) else NUM_PADS
        ids = torch.tensor([[*probe.plan.ids, *[self._pad_id] * num_pads]], device=self.device)
        mask = torch.arange(ids.shape[1], device=self.device)[None] < num_tokens - probe.plan.num_masked
        inputs = {"input_ids": ids, "attention_mask": mask.long()}
        if self._separator is not None:
            inputs["token_type_ids"] = token_types(ids[0], self._separator)[None]
        with stock_attention("eager", self._config):
            if self._whole is not None:
                logits = cast(Any, self._whole)(**inputs).logits
                return cast(torch.Tensor, logits[0, :num_tokens] if logits.ndim == 3 else logits)
            states = self.stock(**inputs, use_cache=False).last_hidden_state
        return States(states[0, :num_tokens], [num_tokens])


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in the calling thread alone; the others sleep on. A setting of the process, so it is set back."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(num_threads)


def token_types(token_ids: torch.Tensor, separator: int) -> torch.Tensor:
    """`[num_tokens]`, int64: 0 up to the first separator of a pair, 1 after it. No text becomes a separator."""
    is_separator = token_ids.eq(separator).long()
    return (is_separator.cumsum(0) - is_separator).clamp(max=1)


def _is_plain(config: Any) -> bool:
    """True if each layer attends to all that came before, without biases, and gates by SiLU."""
    windows = {*(getattr(config, "layer_types", None) or ["full_attention"])} - {"full_attention"}
    is_causal = getattr(config, "is_causal", True) is not False
    return is_causal and not windows and not config.attention_bias and config.hidden_act == "silu"


def _rope_types(config: object) -> set[str]:
    """Rope types of a configuration, whether it has one set of parameters or one for each type of layer."""
    parameters = getattr(config, "rope_parameters", None) or {}
    sets = [parameters] if "rope_type" in parameters else [one for one in parameters.values() if isinstance(one, dict)]
    return {str(one.get("rope_type", "default")) for one in sets}
