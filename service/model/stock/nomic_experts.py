"""NomicBert with experts, of nomic-embed-text-v2-moe, which transformers does not have.

Every other layer has a router and experts in the place of its feed-forward; no layer is gated, and all projections
have biases. Modules have the names of the released tensors, so that `load_stock` finds them.

Source: Nussbaum and Duderstadt 2025 (arXiv 2502.07972); `modeling_hf_nomic_bert.py` of nomic-ai/nomic-bert-2048.
"""

from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import gelu
from transformers.modeling_outputs import BaseModelOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.nomic_bert.configuration_nomic_bert import NomicBertConfig
from transformers.models.nomic_bert.modeling_nomic_bert import (
    NomicBertPreTrainedModel,
    NomicBertRotaryEmbedding,
    apply_rotary_pos_emb,
    eager_attention_forward,
)


class NomicExperts(NomicBertPreTrainedModel):  # type: ignore[no-untyped-call]  # of a parent's `__init_subclass__`
    """The stock module; beside NomicBertConfig's keys it reads `num_experts`, `moe_top_k` and `moe_every_n_layers`."""

    def __init__(self, config: NomicBertConfig) -> None:
        super().__init__(config)
        width, every = config.hidden_size, config.moe_every_n_layers
        sizes = {"word_embeddings": config.vocab_size, "token_type_embeddings": config.type_vocab_size}
        self.embeddings: Any = nn.ModuleDict({name: nn.Embedding(size, width) for name, size in sizes.items()})
        self.emb_ln = nn.LayerNorm(width, eps=config.layer_norm_eps)
        layers = [NomicLayer(config, has_experts=every > 0 and i % every == 1) for i in range(config.num_hidden_layers)]
        self.encoder: Any = nn.ModuleDict({"layers": nn.ModuleList(layers)})
        self.rotary_emb = NomicBertRotaryEmbedding(config)
        cast(Any, self).post_init()

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> BaseModelOutput:
        """`last_hidden_state`, `[batch, tokens, width]`; all tokens are of the first type.

        Args:
            inputs: of the attention function; `position_ids`, or `attention_mask`, `[batch, tokens]`, of padded ones.
        """
        positions = inputs.pop("position_ids", torch.arange(input_ids.shape[1], device=input_ids.device)[None])
        words = self.embeddings["word_embeddings"](input_ids)
        states = self.emb_ln(words + self.embeddings["token_type_embeddings"].weight[0])
        if inputs["attention_mask"] is not None:  # to what is added to scores
            inputs["attention_mask"] = (inputs["attention_mask"][:, None, None] == 0) * torch.finfo(states.dtype).min
        rotations = self.rotary_emb(states, positions)
        for layer in self.encoder["layers"]:
            states = layer(states, rotations, inputs)
        return BaseModelOutput(last_hidden_state=states)


class NomicLayer(nn.Module):
    """``y = LN(A(x) + x)``, ``LN(F(y) + y)``, F two layers or experts."""

    is_causal = False

    def __init__(self, config: NomicBertConfig, *, has_experts: bool) -> None:
        super().__init__()
        self.config, width, inner = config, config.hidden_size, config.intermediate_size
        self.attn = nn.ModuleDict({"Wqkv": nn.Linear(width, 3 * width), "out_proj": nn.Linear(width, width)})
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=config.layer_norm_eps) for _ in range(2))
        self.mlp: nn.Module = PlainFeedForward(width, inner)
        if has_experts:
            self.mlp = ExpertFeedForward(width, inner, config.num_experts, config.moe_top_k)

    def forward(
        self, states: torch.Tensor, rotations: tuple[torch.Tensor, torch.Tensor], inputs: dict[str, Any]
    ) -> torch.Tensor:
        """`[batch, tokens, width]` to the same; `inputs` are the attention function's."""
        query, key, value = self.attn["Wqkv"](states).chunk(3, dim=-1)
        shape = (*states.shape[:-1], self.config.num_attention_heads, -1)
        query, key, value = (one.view(shape).transpose(1, 2) for one in (query, key, value))
        query, key = apply_rotary_pos_emb(query, key, *rotations)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(str(self.config._attn_implementation), eager_attention_forward)
        mixed, _ = attend(self, query, key, value, scaling=query.shape[-1] ** -0.5, **inputs)
        states = self.norm1(self.attn["out_proj"](mixed.flatten(-2)) + states)
        return cast(torch.Tensor, self.norm2(self.mlp(states) + states))


class PlainFeedForward(nn.Module):
    """``W gelu(V x + b) + c``."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """`[..., width]` to the same."""
        return cast(torch.Tensor, self.fc2(gelu(self.fc1(states))))


class ExpertFeedForward(nn.Module):
    """``Σ p_e · gelu(x V_eᵀ) W_e + c`` over the experts e of the largest p = softmax(R x), which do not sum to 1."""

    def __init__(self, width: int, inner: int, num_experts: int, num_chosen: int) -> None:
        super().__init__()
        self.num_chosen, self.shape = num_chosen, (num_experts, inner, width)
        self.router = nn.ModuleDict({"layer": nn.Linear(width, num_experts, bias=False)})
        self.experts = nn.Module()
        self.experts.mlp = nn.Module()
        for name in ("w1", "w2"):
            self.experts.mlp.register_parameter(name, nn.Parameter(torch.empty(num_experts * inner, width)))
        self.experts.register_parameter("bias", nn.Parameter(torch.zeros(width)))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """`[..., width]` to the same."""
        rows, own = states.flatten(0, -2), cast(nn.Module, self.experts.mlp)
        weights, chosen = self.router["layer"](rows).softmax(-1, dtype=torch.float32).topk(self.num_chosen, dim=-1)
        widen, narrow = (own.get_parameter(name).view(self.shape) for name in ("w1", "w2"))
        out = torch.zeros_like(rows)
        for expert in range(self.shape[0]):
            row, place = torch.where(chosen == expert)
            made = gelu(rows[row] @ widen[expert].T) @ narrow[expert]
            out.index_add_(0, row, made * weights[row, place, None].to(made.dtype))
        return (out + self.experts.get_parameter("bias")).view_as(states)
