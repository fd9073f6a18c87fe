"""JinaBERT, of jina-embeddings-v2, which transformers does not have: BERT with ALiBi for positions, and gated layers.

Modules have the names of the released tensors, so that `load_stock` finds them. There are two forms: the texts'
models', and the code model's, which normalizes queries and keys, and once more after attention.

Source: Press et al. 2022 (arXiv 2108.12409); Günther et al. 2023 (arXiv 2310.19923); `modeling_bert.py` of
jinaai/jina-bert-implementation and jinaai/jina-bert-v2-qk-post-norm.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import nn
from torch.nn.functional import gelu
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertPreTrainedModel

from service.model.packed.attention import attend_biased
from service.model.packed.segments import Group

Mix = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Queries, keys and values, each `[batch, tokens, heads, head_dim]`, to their mixtures."""


class AlibiBert(BertPreTrainedModel):  # type: ignore[no-untyped-call]  # of a parent's `__init_subclass__`
    """The stock module; one that `norms_queries` is of the code model's form."""

    _supports_attention_backend = True
    norms_queries = False

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        sizes = {"word_embeddings": config.vocab_size, "token_type_embeddings": config.type_vocab_size}
        tables = {name: nn.Embedding(size, config.hidden_size) for name, size in sizes.items()}
        self.embeddings: Any = nn.ModuleDict({**tables, "LayerNorm": _norm(config)})
        kind = NormedLayer if self.norms_queries else GatedLayer
        layers = nn.ModuleList(kind(config) for _ in range(config.num_hidden_layers))
        self.encoder: Any = nn.ModuleDict({"layer": layers})
        cast(Any, self).post_init()

    def forward(self, input_ids: torch.Tensor, **inputs: Any) -> BaseModelOutput:
        """`last_hidden_state`, `[batch, tokens, width]`; all tokens are of the first type.

        Args:
            inputs: `packing`, how prompts lie; or `attention_mask`, `[batch, tokens]`, of padded ones.
        """
        words = self.embeddings["word_embeddings"](input_ids)
        types = self.embeddings["token_type_embeddings"].weight
        states = self.embeddings["LayerNorm"](words + types[0])
        slopes = torch.tensor(alibi_slopes(self.config.num_attention_heads), device=states.device)
        lie, run = ("packing", _packed) if "packing" in inputs else ("attention_mask", _padded)
        for layer in self.encoder["layer"]:
            states = layer(states, partial(run, slopes, inputs[lie]))
        return BaseModelOutput(last_hidden_state=states)


class AlibiBertOfCode(AlibiBert):  # type: ignore[no-untyped-call]
    """The code model's form."""

    norms_queries = True


class GatedLayer(nn.Module):
    """``y = LN(A(x) + x)``, ``LN(W (gelu(G y) · U y) + y)``."""

    names = ("gated_layers", "wo")
    """Of the matrix that widens, and of the one that narrows."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.num_heads = config.num_attention_heads
        width, inner = config.hidden_size, config.intermediate_size
        of_self = {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        output = {"dense": nn.Linear(width, width), "LayerNorm": _norm(config)}
        self.attention: Any = nn.ModuleDict({"self": nn.ModuleDict(of_self), "output": nn.ModuleDict(output)})
        both = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width)
        self.mlp: Any = nn.ModuleDict(dict(zip(self.names, both, strict=True)))
        self._add_norms(config)

    def _add_norms(self, config: BertConfig) -> None:
        self.mlp["layernorm"] = _norm(config)

    def forward(self, states: torch.Tensor, mix: Mix) -> torch.Tensor:
        """`[batch, tokens, width]` to the same."""
        states = self._attended(states, mix)
        gate, up = self.mlp["gated_layers"](states).chunk(2, dim=-1)
        result: torch.Tensor = self.mlp["layernorm"](self.mlp["wo"](gelu(gate) * up) + states)
        return result

    def _attended(self, states: torch.Tensor, mix: Mix) -> torch.Tensor:
        by_head = [one.view(*one.shape[:-1], self.num_heads, -1) for one in self._projected(states)]
        output = self.attention["output"]
        result: torch.Tensor = output["LayerNorm"](output["dense"](mix(*by_head).flatten(-2)) + states)
        return result

    def _projected(self, states: torch.Tensor) -> list[torch.Tensor]:
        """Queries, keys and values, heads side by side."""
        return [self.attention["self"][name](states) for name in ("query", "key", "value")]


class NormedLayer(GatedLayer):
    """``y = LN(LN(A(x) + x) + x)``, ``LN(W (U y · gelu(G y)) + y)``, and queries and keys are normalized."""

    names = ("up_gated_layer", "down_layer")

    def _add_norms(self, config: BertConfig) -> None:
        self.attention["self"].update({"layer_norm_q": _norm(config), "layer_norm_k": _norm(config)})
        self.layer_norm_1, self.layer_norm_2 = _norm(config), _norm(config)

    def forward(self, states: torch.Tensor, mix: Mix) -> torch.Tensor:
        """`[batch, tokens, width]` to the same."""
        states = self.layer_norm_1(self._attended(states, mix) + states)
        up, gate = self.mlp["up_gated_layer"](states).chunk(2, dim=-1)
        result: torch.Tensor = self.layer_norm_2(self.mlp["down_layer"](up * gelu(gate)) + states)
        return result

    def _projected(self, states: torch.Tensor) -> list[torch.Tensor]:
        queries, keys, values = super()._projected(states)
        own = self.attention["self"]
        return [own["layer_norm_q"](queries), own["layer_norm_k"](keys), values]


def alibi_slopes(num_heads: int) -> list[float]:
    """Each head's factor of the distance, ``2^(-8 (h + 1) / n)`` of n heads.

    Of other numbers than powers of two, those of the next lower power, and then every other one of the next higher.

    Source: `get_slopes` of github.com/ofirpress/attention_with_linear_biases.
    """
    lower = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * (head + 1) / lower) for head in range(lower)]
    return slopes + [2 ** (-4 * (head + 1) / lower) for head in range(0, 2 * (num_heads - lower), 2)]


def _norm(config: BertConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)


def _packed(
    slopes: torch.Tensor, packing: Sequence[Group], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    return attend_biased(query[0], key[0], value[0], packing, slopes)[None]


def _padded(
    slopes: torch.Tensor, mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
) -> torch.Tensor:
    """The formula as it stands, for the known-answer check: ``softmax(Q Kᵀ / √head_dim - m |i - j|) V``."""
    places = torch.arange(query.shape[1], device=query.device)
    scores = torch.einsum("bihd,bjhd->bhij", query, key) / query.shape[-1] ** 0.5
    scores -= (slopes[:, None, None] * (places[:, None] - places).abs()).to(scores.dtype)
    scores = scores.masked_fill(mask[:, None, None] == 0, torch.finfo(scores.dtype).min)
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), value)
