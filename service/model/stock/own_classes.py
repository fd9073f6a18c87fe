"""Model classes that transformers does not have, on its own: released with code of their own, which is never run here.

In: a configuration. Out: a module with the names of the released tensors. `stock_class` finds them by name.

Source: llama-nemotron-embed-1b-v2, `llama_bidirectional_model.py`; voyage-4-nano, `modeling_qwen3_bidirectional.py`;
LFM2.5-Embedding-350M and LFM2.5-ColBERT-350M, `modeling_lfm2_bidirectional.py`; transformers 5.24 `Lfm2ShortConv`,
`Qwen3_5GatedDeltaNet`, `create_causal_mask`; vLLM `ColQwen3_5Config`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional
from transformers.models.lfm2.configuration_lfm2 import Lfm2Config
from transformers.models.lfm2.modeling_lfm2 import Lfm2Model, Lfm2ShortConv
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaModel
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3Model
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5Config
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5GatedDeltaNet, Qwen3_5Model

from service.checkpoint.late.token_projection import ATTENTION, CONTRACTS
from service.model.packed.segments import Group
from service.model.stock.alibi_bert import AlibiBert, AlibiBertOfCode
from service.model.stock.nomic_experts import NomicExperts

__all__ = [
    "AlibiBert",
    "AlibiBertOfCode",
    "Lfm2BidirectionalModel",
    "Lfm2ModelOfTokens",
    "LlamaBidirectionalModel",
    "NomicExperts",
    "PackedLfm2Model",
    "PackedQwen3_5Model",
    "Qwen3BidirectionalModel",
]


class LlamaBidirectionalModel(LlamaModel):  # type: ignore[no-untyped-call]
    """Llama whose tokens attend to all of their prompt."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(_both_ways(config))


class Qwen3BidirectionalModel(Qwen3Model):  # type: ignore[no-untyped-call]
    """Qwen3 whose tokens attend to all of their prompt."""

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__(_both_ways(config))


class ShortConv(Lfm2ShortConv):
    """``out(C · conv(B · x))`` of each prompt by itself, ``B, C, x = in(h)``: no token of a neighbor is read.

    Attributes:
        both_sides: the kernel's middle lies on a token, not its end: it sees those after it, too.
        clears: tokens that are hidden from others are zeros to it.
    """

    both_sides, clears = False, True

    def forward(
        self, hidden_states: torch.Tensor, cache: Any = None, attention_mask: Any = None, **others: Any
    ) -> torch.Tensor:
        """`[prompts, num_tokens, width]` to the same.

        Args:
            cache: None, always.
            attention_mask: of padded prompts `[prompts, num_tokens]`, else None.
            others: with `packing` among them the only row has its prompts, one after the other, and padding.
        """
        packing: Sequence[Group] = others.get("packing", ())
        if attention_mask is not None and self.clears:
            hidden_states = hidden_states * attention_mask[:, :, None].to(hidden_states.dtype)
        if self.clears and any(group.num_keys < group.num_tokens for group in packing):
            hidden_states = hidden_states.clone()
            for group in packing:
                rows = hidden_states[0, group.start : group.stop].view(group.num_segments, group.num_tokens, -1)
                rows[:, group.num_keys :] = 0
        before, after, x = self.in_proj(hidden_states).chunk(3, dim=-1)
        gated, mixed = before * x, torch.zeros_like(hidden_states)
        for group in packing:
            rows = gated[0, group.start : group.stop].view(group.num_segments, group.num_tokens, -1)
            mixed[0, group.start : group.stop] = self._mix(rows).flatten(0, 1)
        states: torch.Tensor = self.out_proj(after * (mixed if packing else self._mix(gated)))
        return states

    def _mix(self, states: torch.Tensor) -> torch.Tensor:
        kernel, length = self.conv.weight, states.shape[1]
        num_before = kernel.shape[-1] - 1
        found = functional.conv1d(
            states.transpose(1, 2), kernel, self.conv.bias, padding=num_before, groups=states.shape[-1]
        )
        first = num_before - kernel.shape[-1] // 2 if self.both_sides else 0
        return found[:, :, first : first + length].transpose(1, 2)


class ShortConvBothSides(ShortConv):
    """The same, centered."""

    both_sides = True


class ShortConvOfTokens(ShortConvBothSides):
    """The same, and it reads hidden tokens as any others."""

    clears = False


class PackedLfm2Model(Lfm2Model):  # type: ignore[no-untyped-call]
    """LFM2 over packed prompts."""

    conv_class: type[ShortConv] = ShortConv

    def __init__(self, config: Lfm2Config) -> None:
        super().__init__(config)
        for index, layer in enumerate(self.layers):
            if not layer.is_attention_layer:
                layer.conv = self.conv_class(config, index)


class Lfm2BidirectionalModel(PackedLfm2Model):  # type: ignore[no-untyped-call]
    """LFM2 whose attention and convolutions see what follows."""

    conv_class = ShortConvBothSides

    def __init__(self, config: Lfm2Config) -> None:
        super().__init__(_both_ways(config))


class Lfm2ModelOfTokens(Lfm2BidirectionalModel):  # type: ignore[no-untyped-call]
    """The same with a vector for each token."""

    conv_class = ShortConvOfTokens
    reads_padding = True


class PackedDeltaNet(Qwen3_5GatedDeltaNet):
    """Linear attention whose state begins anew with each prompt."""

    def forward(
        self, hidden_states: torch.Tensor, cache: Any = None, attention_mask: Any = None, **others: Any
    ) -> torch.Tensor:
        """`[prompts, num_tokens, width]` to the same; `packing` is as `ShortConv.forward` has it."""
        packing: Sequence[Group] = others.pop("packing", ())
        run, mixed = super().forward, torch.zeros_like(hidden_states)
        for group in packing:
            rows = hidden_states[0, group.start : group.stop].view(group.num_segments, group.num_tokens, -1)
            mixed[0, group.start : group.stop] = run(rows).flatten(0, 1)
        return mixed if packing else run(hidden_states, cache, attention_mask, **others)


class PackedQwen3_5Model(Qwen3_5Model):  # type: ignore[no-untyped-call]  # noqa: N801  # as transformers names it
    """Qwen3.5 with images over packed prompts; it attends both ways where a maker's key says so."""

    def __init__(self, config: Qwen3_5Config) -> None:
        text: Any = config.text_config
        if said := getattr(config, ATTENTION, None):
            text.is_causal = said == CONTRACTS[0]
        super().__init__(config)
        for index, kind in enumerate(text.layer_types):
            if kind == "linear_attention":
                self.language_model.layers[index].linear_attn = PackedDeltaNet(text, index)


def _both_ways(config: Any) -> Any:
    """The configuration, by which transformers and our own attention have no causal mask."""
    config.is_causal = False
    return config
