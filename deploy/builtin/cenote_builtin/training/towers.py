"""The training forward: each image goes through the vision tower once, and each system turn through the text once.

It gives raw vectors of the last token. Scoring uses the stock forward instead, so that a fault here shows there.
"""

from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache, Qwen3VLModel
from transformers.cache_utils import DynamicLayer

from cenote_builtin.architecture import MERGE, PATCH_PIXELS
from cenote_builtin.scenes.batches import PADDING, Batch, Rows
from service.model.qwen3_vl.qwen3_vl import patchify


@dataclass(frozen=True, slots=True)
class Features:
    """The vision tower's features of a batch's images, all of one size."""

    levels: list[torch.Tensor]
    """Main features, then one per deepstack level; each `[images, tokens, hidden]`."""
    side_tokens: int
    """Visual tokens per side of an image."""


def encode_images(model: Qwen3VLModel, pixels: np.ndarray) -> Features:
    """Run the vision tower over square images `[images, side, side, 3]` of RGB bytes."""
    num_images, side = pixels.shape[:2]
    per_side = side // PATCH_PIXELS
    grid_thw = torch.tensor([[1, per_side, per_side]]).repeat(num_images, 1)
    out = model.visual(torch.cat([patchify(image) for image in torch.from_numpy(pixels)]), grid_thw=grid_thw)
    levels = [out.pooler_output, *out.deepstack_features]
    return Features([level.view(num_images, -1, level.shape[-1]) for level in levels], per_side // MERGE)


def _positions(seen: torch.Tensor, side_tokens: int) -> torch.Tensor:
    """M-RoPE positions `[3, rows, tokens]`; an image of s x s tokens advances the text after it by s.

    Source: transformers `Qwen3VLModel.get_rope_index`.
    """
    index = torch.arange(seen.shape[1]).expand_as(seen)
    if not seen.any():
        return index.expand(3, *seen.shape)
    start = seen.int().argmax(dim=1, keepdim=True)
    inside = (index - start).clamp(min=0)
    behind = inside >= side_tokens**2
    temporal = torch.where(behind, index - side_tokens**2 + side_tokens, torch.where(seen, start, index))
    height = torch.where(seen, start + inside // side_tokens, temporal)
    width = torch.where(seen, start + inside % side_tokens, temporal)
    return torch.stack([temporal, height, width])


@dataclass(frozen=True, slots=True)
class Heads:
    """Keys and values of the distinct system turns; everything after one attends to it and not the other way round."""

    layers: list[tuple[torch.Tensor, torch.Tensor]]
    """Per layer, keys and values `[heads, kv heads, tokens, head size]`."""
    mask: torch.Tensor
    """Integer `[heads, tokens]`, 1 where there is no padding."""

    def cache(self, rows: torch.Tensor) -> DynamicCache:
        """The cache with which the rows that follow these system turns go on."""
        cache = DynamicCache()
        for index, (keys, values) in enumerate(self.layers):
            cache.update(keys[rows], values[rows], index)
        return cache


def read_heads(model: Qwen3VLModel, heads: np.ndarray) -> Heads:
    """Run the system turns `[heads, tokens]` through the text model."""
    ids = torch.from_numpy(heads)
    mask = (ids != PADDING).long()
    cache = DynamicCache()
    model.language_model(
        inputs_embeds=model.get_input_embeddings()(ids.clamp(min=0)),
        position_ids=torch.arange(ids.shape[1]).expand(3, *ids.shape),
        past_key_values=cache,
        use_cache=True,
    )
    layers = [layer for layer in cache.layers if isinstance(layer, DynamicLayer)]
    kept = [(layer.keys, layer.values) for layer in layers if layer.keys is not None and layer.values is not None]
    return Heads(kept, mask)


def read(model: Qwen3VLModel, rows: Rows, heads: Heads, features: Features, image_token_id: int) -> torch.Tensor:
    """Raw vectors `[rows, hidden]` of the last token of each prompt; causal attention never reaches the padding."""
    ids, images, before = (torch.from_numpy(part) for part in (rows.ids, rows.images, rows.heads))
    mask = heads.mask[before]
    embeds = model.get_input_embeddings()(ids)
    seen = ids == image_token_id
    deepstack = None
    if seen.any():
        main, *deepstack = [level[images].flatten(0, 1) for level in features.levels]
        embeds = embeds.masked_scatter(seen[..., None], main)
    hidden = model.language_model(
        inputs_embeds=embeds,
        position_ids=_positions(seen, features.side_tokens) + mask.sum(dim=1, keepdim=True),
        attention_mask=torch.cat([mask, torch.ones_like(ids)], dim=1),
        past_key_values=heads.cache(before),
        visual_pos_masks=seen if deepstack else None,
        deepstack_visual_embeds=deepstack,
        use_cache=True,
    ).last_hidden_state
    last: torch.Tensor = hidden[torch.arange(len(ids)), torch.from_numpy(rows.lengths) - 1]
    return last


def embed(
    model: Qwen3VLModel, batch: Batch, features: Features, image_token_id: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Raw vectors of queries and of captions, `[n, hidden]` each."""
    heads = read_heads(model, batch.heads)
    vectors = torch.cat([read(model, rows, heads, features, image_token_id) for rows in batch.rows])
    order = torch.from_numpy(np.concatenate([rows.order for rows in batch.rows]))
    placed = torch.zeros_like(vectors).index_copy(0, order, vectors)
    queries, captions = placed.chunk(2)
    return queries, captions
