"""One block of the vision tower: attention over all patches of an image, everything else a few rows at a time.

Between the two attentions of consecutive blocks nothing mixes rows. A chunk of rows therefore goes through projection,
residual, norm and MLP while it lies in the processor's cache, and its intermediate results are written over those of
the chunk before, so that no block allocates what it could use again.
"""

from dataclasses import dataclass

import torch
from torch.nn import functional
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionBlock, Qwen3VLVisionPatchMerger

from cenote_kernels.cpu.rows import apply_rope
from service.model.linear.linear import MakeProduct, fuse
from service.model.packed.attention import attend_whole
from service.model.qwen3_vl.tower_tables import GridTables

CHUNK_ROWS = 2048
"""Rows of a chunk on a CPU, where with two threads 256 took 10 to 12 % longer, and all 4,096 at once 1 to 6 %.
Packed products have as many as a block of theirs; elsewhere there is one chunk."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Memory that all blocks of one image write to.

    Attributes:
        query_key_value: `[3, 1, heads, patches, head_dim]`, each head's rows side by side: attention reads them faster.
        projected: `[chunk, 3 · hidden]`.
        widened: `[chunk, intermediate]`.
        chunk: rows of a chunk.
    """

    query_key_value: torch.Tensor
    projected: torch.Tensor
    widened: torch.Tensor
    chunk: int

    @classmethod
    def for_patches(cls, like: torch.Tensor, num_heads: int, intermediate: int, chunk_rows: int) -> "Workspace":
        """Room for the rows of `like`, `[patches, hidden]`, in chunks of `chunk_rows` on a CPU."""
        patches, hidden = like.shape
        chunk = min(patches, chunk_rows) if like.device.type == "cpu" else patches
        return cls(
            like.new_empty(3, 1, num_heads, patches, hidden // num_heads),
            like.new_empty(chunk, 3 * hidden),
            like.new_empty(chunk, intermediate),
            chunk,
        )


class TowerBlock:
    """``states += attention(norm(states)); states += mlp(norm(states))``, on the weights of the stock block.

    Source: transformers `Qwen3VLVisionBlock.forward`.
    """

    def __init__(self, block: Qwen3VLVisionBlock, make: MakeProduct) -> None:
        self._norms = (block.norm1, block.norm2)
        self._num_heads = block.attn.num_heads
        self._qkv, self._out = make(fuse([block.attn.qkv])), make(fuse([block.attn.proj]))
        self._widen, self._narrow = make(fuse([block.mlp.linear_fc1])), make(fuse([block.mlp.linear_fc2]))

    def run(self, states: torch.Tensor, tables: GridTables, space: Workspace) -> None:
        """Change `states`, `[patches, hidden]`, in place."""
        chunks = [slice(start, start + space.chunk) for start in range(0, len(states), space.chunk)]
        for rows in chunks:  # queries, keys and values, the first two turned in float32, to where attention reads them
            chunk = states[rows]
            projected = self._qkv.project(self._norms[0](chunk), space.projected[: len(chunk)])
            heads = projected.view(len(chunk), 3, self._num_heads, -1).unbind(1)
            into = [one[0, :, rows].transpose(0, 1) for one in space.query_key_value]
            for number in range(2):
                apply_rope(heads[number], tables.cos[rows, None], tables.sin[rows, None], into[number], None)
            into[2].copy_(heads[2])
        query, key, value = space.query_key_value
        attended = attend_whole(*(one[0].transpose(0, 1) for one in (query, key, value)))
        for rows in chunks:
            chunk = states[rows]
            between = self._out.project_add(attended[rows].flatten(1), chunk)
            wide = self._widen.project_gelu_tanh(self._norms[1](between), space.widened[: len(chunk)])
            after = self._narrow.project_add(wide, between)
            if after is not chunk:
                chunk.copy_(after)


class TowerMerger:
    """``W₂ gelu(W₁ x)`` with x the norm of four patches, or of each of them before they stand side by side.

    Source: transformers `Qwen3VLVisionPatchMerger.forward`.
    """

    def __init__(self, merger: Qwen3VLVisionPatchMerger, make: MakeProduct) -> None:
        self._norm = merger.norm
        self._norms_four = merger.use_postshuffle_norm
        self._width = merger.hidden_size
        self._widen, self._narrow = make(fuse([merger.linear_fc1])), make(fuse([merger.linear_fc2]))

    def merge(self, states: torch.Tensor) -> torch.Tensor:
        """`[patches, hidden]` to `[patches / 4, out_hidden]`."""
        four = states.view(-1, self._width)
        normed = self._norm(four) if self._norms_four else self._norm(states).view_as(four)
        wide = functional.gelu(self._widen.project(normed, torch.empty_like(normed)))
        return self._narrow.project(wide, wide.new_empty(len(wide), self._narrow.num_outputs))
