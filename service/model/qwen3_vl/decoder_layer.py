"""One decoder layer over packed rows, on the weights of the stock layer: projections, norms and feed-forward.

It changes the residual stream in place and knows no batch: `language.py` has attention and says where prompts lie.
Rows go through projections and feed-forward a block at a time, so that what lies between stays in the processor's
cache and needs no new memory.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from cenote_kernels import apply_rope, rms_norm
from service.model.linear.linear import Product, fuse
from service.model.linear.products import Products

if TYPE_CHECKING:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextDecoderLayer

    StockLayer = Qwen3VLTextDecoderLayer | Qwen3DecoderLayer
    """Of the same modules under the same names."""

Angles = tuple[torch.Tensor, torch.Tensor]
"""Cosine and sine of the rotation, each `[rows, 1, head_dim / 2]`; where kernels run float32."""


@dataclass(frozen=True, slots=True)
class HeadProjection:
    """From normed rows to heads: the first are normed again and turned, those after them are values, as they are.

    Attributes:
        product: gives the heads, side by side.
        norms: `[normed heads, head_dim]`, float32, weights of the norms of queries and keys.
    """

    product: Product
    norms: torch.Tensor


class DecoderLayer:
    """One layer.

    Attributes:
        num_heads: query heads.
        num_kv_heads: key heads; as many value heads.
        scaling: factor of the attention scores.
        all_heads: queries, keys and values.
        query_heads: queries apart from the others; only of the last layer.
        key_value_heads: keys and values; only of the last layer.
    """

    def __init__(self, layer: "StockLayer", products: Products, is_last: bool) -> None:
        attention, make = layer.self_attn, products.make
        self.head_dim = attention.head_dim
        self.scaling = attention.scaling
        self.num_heads = attention.q_proj.out_features // self.head_dim
        self.num_kv_heads = attention.k_proj.out_features // self.head_dim
        self._out = make(fuse([attention.o_proj]))
        self._gated = products.gate(fuse([layer.mlp.gate_proj, layer.mlp.up_proj]))
        self._down = make(fuse([layer.mlp.down_proj]))
        is_on_cpu = attention.o_proj.weight.device.type == "cpu"
        self._blocks = products.blocks if is_on_cpu else lambda num_rows: [slice(0, num_rows)]  # no cache to stay in
        before, after = layer.input_layernorm, layer.post_attention_layernorm
        self._attention_norm = (before.weight.detach().float(), before.variance_epsilon)
        self._mlp_norm = (after.weight.detach().float(), after.variance_epsilon)
        q_norm, k_norm = attention.q_norm, attention.k_norm
        self._head_epsilon = q_norm.variance_epsilon
        weights = (q_norm.weight.expand(self.num_heads, -1), k_norm.weight.expand(self.num_kv_heads, -1))
        norms = torch.cat(weights).detach().float()
        qkv = fuse([attention.q_proj, attention.k_proj, attention.v_proj])
        self.all_heads = HeadProjection(make(qkv), norms)
        if is_last:
            num_queries = attention.q_proj.out_features
            query, key_value = make(qkv.part(0, num_queries)), make(qkv.part(num_queries, qkv.num_outputs))
            self.query_heads = HeadProjection(query, norms[: self.num_heads])
            self.key_value_heads = HeadProjection(key_value, norms[self.num_heads :])

    def project(self, heads: HeadProjection, states: torch.Tensor, angles: Angles) -> torch.Tensor:
        """Heads of rows, `[rows, heads, head_dim]`: queries and keys turned by their positions, values as they are."""
        out, num_turned = states.new_empty(len(states), heads.product.num_outputs), len(heads.norms)
        blocks = self._blocks(len(states))
        memory = torch.empty_like(states[blocks[0]])
        for rows in blocks:
            block, own = states[rows], out[rows]
            made = heads.product.project(rms_norm(block, *self._attention_norm, memory[: len(block)]), own)
            given, into = (one.view(len(block), -1, self.head_dim) for one in (made, own))
            norms = (heads.norms, self._head_epsilon)
            apply_rope(given[:, :num_turned], angles[0][rows], angles[1][rows], into[:, :num_turned], norms)
            if made is not own:
                into[:, num_turned:] = given[:, num_turned:]
        return out.view(len(out), -1, self.head_dim)

    def finish(self, states: torch.Tensor, mixed: torch.Tensor) -> None:
        """Add to `states` what attention mixed, `[rows, heads, head_dim]`, and then what the feed-forward gives."""
        mixed = mixed.flatten(1)
        blocks = self._blocks(len(states))
        memory = torch.empty_like(states[blocks[0]])
        for rows in blocks:
            block = states[rows]
            between = self._out.project_add(mixed[rows], block)
            normed = rms_norm(between, *self._mlp_norm, memory[: len(block)])
            after = self._down.project_add(self._gated.multiply(normed), between)
            if after is not block:
                block.copy_(after)
