"""The vision tower's blocks and tables: attention over all patches of an image, all else a few rows at a time.

Between the two attentions of consecutive blocks nothing mixes rows. A chunk of rows therefore goes through projection,
residual, norm and MLP while it lies in the processor's cache, and its intermediate results are written over those of
the chunk before, so that no block allocates what it could use again. Positions and rotary angles of a grid depend on no
pixel, and are kept.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

from cenote_kernels import apply_rope
from service.model.linear.linear import MakeProduct, fuse
from service.model.packed.attention import attend_whole

if TYPE_CHECKING:
    from transformers.models.qwen3_vl.modeling_qwen3_vl import (
        Qwen3VLVisionBlock,
        Qwen3VLVisionModel,
        Qwen3VLVisionPatchMerger,
    )

PATCH = 16
"""Pixels along one side of a patch."""
MERGE = 2
"""Patches along one side of a visual token."""
MAX_BYTES = 64 << 20
"""Of all tables that are kept: those of the true 2B shape at 1024 × 1024 pixels take 18 MB in float32."""
CHUNK_ROWS = 2048
"""Rows of a chunk on a CPU, where with two threads 256 took 10 to 12 % longer, and all 4,096 at once 1 to 6 %.
Packed products have as many as a block of theirs; elsewhere there is one chunk."""


class GridTables(NamedTuple):
    """Of one grid, rows in merge order.

    Attributes:
        position: `[patches, hidden]`: the learned embeddings, resampled, plus the bias of the patch projection.
        cos: `[patches, head_dim / 2]`, float32.
        sin: `[patches, head_dim / 2]`, float32.
    """

    position: torch.Tensor
    cos: torch.Tensor
    sin: torch.Tensor


class TowerTables:
    """Makes the tables of a grid once; the grids least recently seen go first.

    Attributes:
        num_bytes: of the kept tables.
    """

    def __init__(self, visual: "Qwen3VLVisionModel") -> None:
        config = visual.config
        self._learned = visual.pos_embed.weight
        bias, rope = visual.patch_embed.proj.bias, config.rope_parameters
        assert bias is not None  # the architecture has both
        assert rope is not None
        self._bias = bias
        head_dim = config.hidden_size // config.num_heads
        exponents = torch.arange(0, head_dim // 2, 2, dtype=torch.float32) / (head_dim // 2)
        self._frequencies = (1.0 / rope["rope_theta"] ** exponents).to(self._learned.device)
        self._kept: OrderedDict[tuple[int, int], GridTables] = OrderedDict()
        self.num_bytes = 0

    def of(self, height: int, width: int) -> GridTables:
        """Tables of a still image."""
        grid = (height, width)
        if grid in self._kept:
            self._kept.move_to_end(grid)
            return self._kept[grid]
        index = torch.arange(height * width, device=self._learned.device)
        walk = index.view(height // MERGE, MERGE, width // MERGE, MERGE).transpose(1, 2).flatten()
        row, column = walk // width, walk % width
        angles = torch.cat([row[:, None] * self._frequencies, column[:, None] * self._frequencies], dim=-1)
        position = self._resampled(height, width, row, column).to(self._learned.dtype) + self._bias
        made = self._kept[grid] = GridTables(position, angles.cos(), angles.sin())
        self.num_bytes += sum(table.nbytes for table in made)
        while self.num_bytes > MAX_BYTES and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self.num_bytes -= sum(table.nbytes for table in oldest)
        return made

    def _resampled(self, height: int, width: int, row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        """Bilinear over the square of learned embeddings, corners on corners, in float32.

        Source: transformers `get_vision_interpolation_indices_and_weights`, align_corners.
        """
        side = int(len(self._learned) ** 0.5)
        taps = []  # on each axis: the two learned neighbors of each place, and how far it is towards the second
        for length, index in ((height, row), (width, column)):
            places = index.float() * (side - 1) / max(1, length - 1)
            low = places.long()
            taps.append((low, (low + 1).clamp(max=side - 1), places - low))
        (top, bottom, down), (left, right, along) = taps
        total = torch.zeros(len(row), self._learned.shape[1], device=row.device)
        for at, vertical in ((top, 1 - down), (bottom, down)):
            for beside, horizontal in ((left, 1 - along), (right, along)):
                total += self._learned[at * side + beside] * (vertical * horizontal)[:, None]
        return total


@dataclass(frozen=True, slots=True)
class Workspace:
    """Memory that all blocks of one image write to.

    Attributes:
        query_key_value: `[3 · heads, patches, head_dim]`. On a CPU each head's rows lie side by side, as attention
            reads them faster; on a GPU it is a view of `projected`, where they are turned in place.
        projected: `[chunk, 3 · hidden]`.
        widened: `[chunk, intermediate]`.
        chunk: rows of a chunk.
    """

    query_key_value: torch.Tensor
    projected: torch.Tensor
    widened: torch.Tensor
    chunk: int


class TowerBlock:
    """``states += attention(norm(states)); states += mlp(norm(states))``, on the weights of the stock block.

    Source: transformers `Qwen3VLVisionBlock.forward`.
    """

    def __init__(self, block: "Qwen3VLVisionBlock", make: MakeProduct) -> None:
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
            heads = projected.view(len(chunk), 3 * self._num_heads, -1)
            into, num_turned = space.query_key_value[:, rows].transpose(0, 1), 2 * self._num_heads
            angles = tables.cos[rows, None], tables.sin[rows, None]
            apply_rope(heads[:, :num_turned], *angles, into[:, :num_turned], None)
            if into.data_ptr() != heads.data_ptr():
                into[:, num_turned:].copy_(heads[:, num_turned:])
        attended = attend_whole(*space.query_key_value.transpose(0, 1).chunk(3, dim=1))
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

    def __init__(self, merger: "Qwen3VLVisionPatchMerger", make: MakeProduct) -> None:
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
