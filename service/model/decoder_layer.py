"""One decoder layer over packed rows, on the weights of the stock layer.

In: the residual stream, changed in place. Knows no batch: `service.model.decoder` says where prompts lie.
Rows go through projections and feed-forward a block at a time, so that what lies between stays in the processor's
cache and needs no new memory.
"""

from collections.abc import Iterator

import torch
from torch.nn.functional import silu
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextDecoderLayer

from service.model.linear import fuse
from service.model.product import MakeProduct
from service.model.rms_norm import rms_norm
from service.model.rotary import rotate

BLOCK_ROWS = 1024
"""About so many at once: with 256 the matrix product is 10 % slower, with all the fresh pages between cost 15 %."""

Angles = tuple[torch.Tensor, torch.Tensor]


class DecoderLayer:
    """Projections, norms and feed-forward of one layer.

    Args:
        layer: the stock layer.
        make: how its products are run.
        is_last: queries are also wanted apart from keys and values.

    Attributes:
        num_heads: query heads.
        num_kv_heads: heads of keys and values.
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
        self._norms = (layer.input_layernorm, layer.post_attention_layernorm)
        q_norm, k_norm = attention.q_norm, attention.k_norm
        self._head_epsilon = q_norm.variance_epsilon
        self._head_weight = torch.cat(
            [q_norm.weight.detach().expand(self.num_heads, -1), k_norm.weight.detach().expand(self.num_kv_heads, -1)]
        )

    def project(self, hidden: torch.Tensor, angles: Angles) -> torch.Tensor:
        """Queries, keys and values of all rows, `[rows, heads + 2 kv_heads, head_dim]`, turned by their positions."""
        out = hidden.new_empty(len(hidden), self._qkv.num_outputs)
        for rows, normed in self._normed(hidden, 0):
            self._qkv.write(normed, out[rows])
            self._turn(out[rows], angles, rows, 0)
        return self._heads(out)

    def project_last(
        self, hidden: torch.Tensor, angles: Angles, last: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries of the rows `last` only, `[num_last, heads, head_dim]`; keys and values of all rows. Last layer."""
        out = hidden.new_empty(len(hidden), self._kv.num_outputs)
        for rows, normed in self._normed(hidden, 0):
            self._kv.write(normed, out[rows])
            self._turn(out[rows], angles, rows, self.num_heads)
        few = hidden[last]
        query = few.new_empty(len(few), self._query.num_outputs)
        normed = self._norm(few, 0, torch.empty_like(few))
        self._query.write(normed, query)
        self._turn(query, (angles[0][last], angles[1][last]), slice(None), 0)
        return self._heads(query), self._heads(out)

    def finish(self, hidden: torch.Tensor, mixed: torch.Tensor) -> None:
        """Add to `hidden` what attention mixed, `[rows, heads, head_dim]`, and then what the feed-forward gives."""
        mixed = mixed.flatten(1)
        for rows in _blocks(len(hidden)):
            self._out.add(mixed[rows], hidden[rows])
        width = self._gate_up.num_outputs
        both = hidden.new_empty(_block_rows(len(hidden)), width)
        for rows, normed in self._normed(hidden, 1):
            gate, up = self._gate_up.write(normed, both[: len(normed)]).chunk(2, dim=-1)
            silu(gate, inplace=True).mul_(up)
            self._down.add(gate, hidden[rows])

    def _normed(self, hidden: torch.Tensor, which: int) -> Iterator[tuple[slice, torch.Tensor]]:
        """Blocks of rows, each with its norm; the norm's memory is used again for the next."""
        normed = torch.empty_like(hidden[: _block_rows(len(hidden))])
        for rows in _blocks(len(hidden)):
            block = hidden[rows]
            yield rows, self._norm(block, which, normed[: len(block)])

    def _norm(self, hidden: torch.Tensor, which: int, out: torch.Tensor) -> torch.Tensor:
        norm = self._norms[which]
        return rms_norm(hidden, norm.weight, norm.variance_epsilon, out)

    def _heads(self, projected: torch.Tensor) -> torch.Tensor:
        return projected.view(len(projected), -1, self._head_dim)

    def _turn(self, projected: torch.Tensor, angles: Angles, rows: slice, first_head: int) -> None:
        """Norm and rotation of those heads that are queries or keys, in place; values stay."""
        weight = self._head_weight[first_head:]
        heads = self._heads(projected)[:, : len(weight)]
        weight = weight[: heads.shape[1]]
        normed = rms_norm(heads, weight, self._head_epsilon, heads.new_empty(heads.shape))
        rotate(normed, angles[0][rows], angles[1][rows], heads)


def _blocks(num_rows: int) -> Iterator[slice]:
    size = _block_rows(num_rows)
    return (slice(start, min(start + size, num_rows)) for start in range(0, num_rows, size))


def _block_rows(num_rows: int) -> int:
    """Rows of a block, such that all are about alike: a last one of few rows would cost as much as many."""
    return -(-num_rows // max(1, round(num_rows / BLOCK_ROWS)))
