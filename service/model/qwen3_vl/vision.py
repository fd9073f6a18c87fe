"""The vision half: pixels of one image to the features that the language model takes in."""

from typing import TYPE_CHECKING, cast

import torch

from cenote_kernels import patchify
from service.errors import ModelError
from service.model.linear.linear import give_back
from service.model.linear.products import TORCHS, PackedProducts, Products
from service.model.qwen3_vl.tower_block import CHUNK_ROWS, MERGE, PATCH, TowerBlock, TowerMerger, TowerTables, Workspace

if TYPE_CHECKING:
    from transformers.models.qwen3_vl.modeling_qwen3_vl import (
        Qwen3VLModel,
        Qwen3VLVisionBlock,
        Qwen3VLVisionPatchMerger,
    )

ACTIVATION = "gelu_pytorch_tanh"


class VisionTower:
    """Encodes images one at a time, so that features do not depend on batch mates and may be cached by content.

    The weights are the stock tower's; the way through them is ours: one frame instead of two equal ones, the patch
    projection a matrix product, tables kept per grid, results written over those no longer needed.
    """

    def __init__(self, model: "Qwen3VLModel", products: Products = TORCHS) -> None:
        """Keep the stock tower, and what is made of its weights once; those of its blocks are given back if packed.

        Raises:
            ModelError: the tower's activation is not the one that is built in.
        """
        self.visual = model.visual
        projection = model.visual.patch_embed.proj.weight
        self.device = projection.device
        self.dtype = projection.dtype
        if model.visual.config.hidden_act != ACTIVATION:
            message = f"the vision tower's hidden_act is {model.visual.config.hidden_act}; {ACTIVATION} is supported"
            raise ModelError("internal_error", message)
        self._patch_weight = fold_still(projection).t()
        self._pair_weight = lay_halves(projection).t()
        if isinstance(products, PackedProducts):
            self._chunk_rows, make = products.block_rows, products.make_for_any_rows
        else:
            self._chunk_rows, make = CHUNK_ROWS, products.make
        self._tables = TowerTables(model.visual)
        levels, self._blocks = list(model.visual.deepstack_merger_list), list[TowerBlock]()
        for block in model.visual.blocks:
            self._blocks.append(TowerBlock(cast("Qwen3VLVisionBlock", block), make))
            if isinstance(products, PackedProducts):
                give_back(block)
        self._merger = TowerMerger(model.visual.merger, make)
        level_indexes = model.visual.config.deepstack_visual_indexes
        merge = [TowerMerger(cast("Qwen3VLVisionPatchMerger", level), make) for level in levels]
        self._levels = dict(zip(level_indexes, merge, strict=True))

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of one image or pair of frames: the merged output, then each deepstack level, side by side.

        Args:
            pixels: `[height, width, 3]`, uint8, sides multiples of 32; `[2, height, width, 3]` for two frames that
                follow each other in a video.

        Returns:
            `[height · width / 1024, hidden · (1 + deepstack)]` in the model's dtype, contiguous.

        Source: transformers `Qwen3VLVisionModel.forward`.
        """
        height, width = pixels.shape[-3:-1]
        tables = self._tables.of(height // PATCH, width // PATCH)
        pixels = pixels.to(self.device)
        if pixels.ndim == 3:
            patches, weight = patchify(pixels, self.dtype), self._patch_weight
        else:
            patches, weight = torch.cat([patchify(frame, self.dtype) for frame in pixels], dim=-1), self._pair_weight
        states = torch.addmm(tables.position, patches, weight)
        config, (num_patches, hidden) = self.visual.config, states.shape
        is_on_cpu = self.device.type == "cpu"
        chunk = min(num_patches, self._chunk_rows) if is_on_cpu else num_patches
        projected, num_heads = states.new_empty(chunk, 3 * hidden), config.num_heads
        heads = projected.view(chunk, 3 * num_heads, -1).transpose(0, 1)
        if is_on_cpu:
            heads = states.new_empty(3 * num_heads, num_patches, hidden // num_heads)
        space = Workspace(heads, projected, states.new_empty(chunk, config.intermediate_size), chunk)
        levels = []
        for index, block in enumerate(self._blocks):
            block.run(states, tables, space)
            if index in self._levels:
                levels.append(self._levels[index].merge(states))
        features = torch.cat([self._merger.merge(states), *levels], dim=-1)
        if features.shape[0] != height * width // (PATCH * MERGE) ** 2:
            raise RuntimeError("the vision tower gave another number of tokens than the grid says. This is a bug.")
        return features


def fold_still(weight: torch.Tensor) -> torch.Tensor:
    """The patch projection for patches of one frame: the sum of its halves.

    The stock tower takes a still image as two equal frames and adds up the products of the two halves. The sum of the
    halves, applied once, gives the same.

    Args:
        weight: `[hidden, 3, 2, 16, 16]`, of the stock tower's convolution; becomes `[hidden, 768]`.

    Source: vllm-project/vllm#44787, which does so before its tower.
    """
    return weight.float().sum(2).flatten(1).to(weight.dtype)


def lay_halves(weight: torch.Tensor) -> torch.Tensor:
    """The patch projection for patches of two frames, laid side by side: `[hidden, 1536]`; frame, channel, y, x.

    The stock tower's convolution, `[hidden, 3, 2, 16, 16]`, has the frame after the channel.
    """
    return weight.transpose(1, 2).flatten(1)
