"""One decoder layer over packed rows, on the weights of the stock layer: projections, norms and feed-forward.

It changes the residual stream in place and knows no batch: `language.py` has attention and says where prompts lie.
Rows go through projections and feed-forward a block at a time, so that what lies between stays in the processor's
cache and needs no new memory.
"""

import torch
from torch.nn.functional import silu
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextDecoderLayer

from service.model.linear.linear import MakeProduct, Product, fuse

BLOCK_ROWS = 1024
"""Rows of a block, about: with 256 the matrix product is 10 % slower, with all at once the fresh pages cost 15 %."""

Angles = tuple[torch.Tensor, torch.Tensor]
"""Cosine and sine of the rotation, each `[rows, 1, head_dim / 2]`."""


class DecoderLayer:
    """One layer; of the last one queries are also computed apart from keys and values.

    Attributes:
        num_heads: query heads.
        scaling: factor of the attention scores.
    """

    def __init__(self, layer: Qwen3VLTextDecoderLayer, make: MakeProduct, is_last: bool) -> None:
        attention = layer.self_attn
        self._head_dim = attention.head_dim
        self.scaling = attention.scaling
        self.num_heads = attention.q_proj.out_features // self._head_dim
        self.num_kv_heads = attention.k_proj.out_features // self._head_dim
        qkv, num_queries = fuse([attention.q_proj, attention.k_proj, attention.v_proj]), attention.q_proj.out_features
        self._qkv = make(qkv)
        if is_last:
            self._query, self._kv = make(qkv.part(0, num_queries)), make(qkv.part(num_queries, qkv.num_outputs))
        self._out = make(fuse([attention.o_proj]))
        self._gate_up = make(fuse([layer.mlp.gate_proj, layer.mlp.up_proj]))
        self._down = make(fuse([layer.mlp.down_proj]))
        before, after = layer.input_layernorm, layer.post_attention_layernorm
        self._attention_norm = (before.weight.detach(), before.variance_epsilon)
        self._mlp_norm = (after.weight.detach(), after.variance_epsilon)
        q_norm, k_norm = attention.q_norm, attention.k_norm
        self._head_epsilon = q_norm.variance_epsilon
        self._head_weight = torch.cat(
            [q_norm.weight.detach().expand(self.num_heads, -1), k_norm.weight.detach().expand(self.num_kv_heads, -1)]
        )

    def project(self, states: torch.Tensor, angles: Angles) -> torch.Tensor:
        """Queries, keys and values of all rows, `[rows, heads + 2 kv_heads, head_dim]`, turned by their positions."""
        return self._heads(self._qkv, states, angles, self._head_weight)

    def project_last(
        self, states: torch.Tensor, angles: Angles, last: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries of the rows `last`, `[num_last, heads, head_dim]`; keys and values of all rows. Last layer only."""
        own_angles = angles[0][last], angles[1][last]
        query = self._heads(self._query, states[last], own_angles, self._head_weight[: self.num_heads])
        return query, self._heads(self._kv, states, angles, self._head_weight[self.num_heads :])

    def finish(self, states: torch.Tensor, mixed: torch.Tensor) -> None:
        """Add to `states` what attention mixed, `[rows, heads, head_dim]`, and then what the feed-forward gives."""
        mixed = mixed.flatten(1)
        blocks = _blocks(len(states))
        memory = torch.empty_like(states[blocks[0]])
        both = states.new_empty(len(memory), self._gate_up.num_outputs)
        for rows in blocks:
            block = states[rows]
            self._out.add(mixed[rows], block)
            normed = rms_norm(block, *self._mlp_norm, memory[: len(block)])
            gate, up = self._gate_up.write(normed, both[: len(block)]).chunk(2, dim=-1)
            silu(gate, inplace=True).mul_(up)
            self._down.add(gate, block)

    def _heads(self, product: Product, states: torch.Tensor, angles: Angles, weight: torch.Tensor) -> torch.Tensor:
        """Heads of all rows, `[rows, heads, head_dim]`: queries and keys normed and turned, values as they are.

        Args:
            product: from normed rows to the heads.
            weight: of the norms of queries and keys, `[heads, head_dim]`; the heads behind them are values.
        """
        out = states.new_empty(len(states), product.num_outputs)
        heads = out.view(len(out), -1, self._head_dim)
        blocks = _blocks(len(states))
        memory = torch.empty_like(states[blocks[0]])
        for rows in blocks:
            block = states[rows]
            product.write(rms_norm(block, *self._attention_norm, memory[: len(block)]), out[rows])
            turned = heads[rows, : len(weight)]
            normed = rms_norm(turned, weight, self._head_epsilon, turned.new_empty(turned.shape))
            rotate(normed, angles[0][rows], angles[1][rows], turned)
        return heads


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float, out: torch.Tensor) -> torch.Tensor:
    """``out = weight · x / sqrt(mean(x²) + epsilon)`` over the last axis; in float32, rounded before the weight.

    Args:
        x: any shape, any float dtype.
        weight: broadcasts against `x`.
        out: as `x`, written; not the same memory where the dtype is float32.

    Source: transformers `Qwen3VLTextRMSNorm`; Zhang and Sennrich 2019 (arXiv 1910.07467).
    """
    exact = x.float()
    factor = torch.linalg.vector_norm(exact, dim=-1, keepdim=True)
    factor.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
    if x.dtype == torch.float32:
        torch.mul(x, factor, out=out)
    else:
        out.copy_(exact.mul_(factor))
    return out.mul_(weight)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Turn each pair (x_i, x_{i + head_dim / 2}) by its angle.

    Args:
        x: `[..., head_dim]`.
        cos: `[..., head_dim / 2]`, broadcasts against a half of `x`.
        sin: likewise.
        out: as `x`, written; other memory.

    Source: transformers `apply_rotary_pos_emb` and `apply_rotary_pos_emb_vision` of Qwen3-VL; Su et al. 2021
    (arXiv 2104.09864).
    """
    (first, second), (to_first, to_second) = x.chunk(2, dim=-1), out.chunk(2, dim=-1)
    torch.mul(first, cos, out=to_first).addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=to_second).addcmul_(first, sin)
    return out


def _blocks(num_rows: int) -> list[slice]:
    """Blocks of about equal size, the first the largest: a last one of few rows would cost as much as many."""
    size = -(-num_rows // max(1, round(num_rows / BLOCK_ROWS)))
    return [slice(start, min(start + size, num_rows)) for start in range(0, num_rows, size)]
