"""Qwen2-VL and its likes as the engine runs them: the stock vision tower, and the stock decoder over a packed batch.

Images go through the tower one at a time, so that their features may be cached by content. Prompts stand one behind
the other without padding, sorted by length; features take the places of their placeholders, and attention is our own
(`packed_attention.py`). How positions are numbered is the family's choice, not the architecture's: references differ.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel, PreTrainedModel

from cenote_kernels import PoolingMode, pool, scatter
from service.model.embedding_model import Grid, Probe, Tower
from service.model.load import load_stock
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Segments, plan_segments
from service.model.positions import plain_positions, rope_positions
from service.model.stock.still_patches import StillPatches

BLOCK_ROWS, BLOCK_COLUMNS = 2, 3
"""Visual tokens of the known image."""


class StockVlm:
    """An `EmbeddingModel`.

    Args:
        stock: a module with `visual`, `language_model` and `get_image_features`.
        counts_plainly: positions count 0, 1, 2, ... also through an image; see `plain_positions`.
        of_image: in a prompt with an image, pool from `<|vision_start|>` to `<|vision_end|>` alone.
    """

    def __init__(
        self,
        stock: PreTrainedModel,
        patches: StillPatches,
        pooling: PoolingMode = "last_token",
        *,
        counts_plainly: bool = False,
        of_image: bool = False,
    ) -> None:
        self.stock = cast(Any, stock)  # Qwen2VLModel or Qwen2_5_VLModel, which have no common type
        self._language: Any = self.stock.language_model
        self._language.config._attn_implementation = PACKED
        self._patches = patches
        self.patch_size = patches.patch
        self._counts_plainly = counts_plainly
        self._pooling: PoolingMode = pooling
        self._of_image = of_image
        self.hidden_size: int = self._language.config.hidden_size
        self.num_parameters = sum(parameter.numel() for parameter in stock.parameters())
        self.device = stock.device
        self.dtype = stock.dtype
        self.placeholder_ids = {"image": int(self.stock.config.image_token_id)}

    @classmethod
    def load(
        cls,
        folder: Path,
        device: torch.device,
        dtype: torch.dtype | None,
        pooling: PoolingMode,
        *,
        counts_plainly: bool = False,
        of_image: bool = False,
    ) -> "StockVlm":
        """From a checkpoint's folder; see `load_stock`."""
        stock = load_stock(cast(type[PreTrainedModel], AutoModel), folder, device, dtype)
        patches = StillPatches.of_checkpoint(folder, cast(Any, stock.config).vision_config)
        return cls(stock, patches, pooling, counts_plainly=counts_plainly, of_image=of_image)

    @property
    def tower(self) -> Tower:
        """The vision tower; the processor's numbers are part of what it makes of an image."""
        config_json = f"{self.stock.visual.config.to_json_string()}{self._patches}"
        return Tower(self.stock.visual, config_json, self._language.config.hidden_size, self.dtype)

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[3, num_tokens]`: temporal, height, width."""
        if self._counts_plainly:
            return plain_positions(num_tokens, placeholders)
        return rope_positions(num_tokens, placeholders)

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """The merged output of the stock tower, `[tokens, hidden]`."""
        patches = self._patches(pixels.to(self.device))
        grid = torch.tensor([self._patches.grid_thw(pixels)], device=self.device)
        (features,) = self.stock.get_image_features(patches, grid, return_dict=True).pooler_output
        return cast(torch.Tensor, features.contiguous())

    @torch.inference_mode()
    def embed(self, batch: PackedBatch) -> torch.Tensor:
        """``pool(decoder(batch))``."""
        lengths = batch.segment_lengths
        plan = plan_segments(batch.token_ids.numpy(), lengths, batch.visual_index.numpy(), may_share=False)
        states = self._states(batch, plan)
        first = np.concatenate([[0], np.cumsum(lengths)])
        visual = np.split(batch.visual_index.numpy(), np.searchsorted(batch.visual_index.numpy(), first[1:-1]))
        whole = [self._span(*one) for one in zip(first[:-1].tolist(), first[1:].tolist(), visual, strict=True)]
        spans = batch.vector_spans(whole)
        rows = np.concatenate([plan.row[start:stop] for start, stop in spans])
        bounds = torch.tensor([0, *np.cumsum([stop - start for start, stop in spans])], device=self.device)
        return pool(states[torch.from_numpy(rows).to(self.device)], bounds, self._pooling)

    def _span(self, start: int, stop: int, visual: NDArray[np.int64]) -> tuple[int, int]:
        """Of a prompt's tokens those that pooling reads: first, and behind the last."""
        if self._of_image and len(visual):
            return int(visual[0]) - 1, int(visual[-1]) + 2
        return (stop - 1, stop) if self._pooling == "last_token" else (start, stop)

    def _states(self, batch: PackedBatch, plan: Segments) -> torch.Tensor:
        """Post-norm hidden states of all prompts, `[total_tokens, hidden]`, in attention's order."""
        tokens = torch.from_numpy(plan.tokens)
        hidden = self._language.embed_tokens(batch.token_ids[tokens].to(self.device))
        if batch.features is not None:
            rows = torch.from_numpy(plan.row[batch.visual_index.numpy()]).to(self.device)
            scatter(hidden, rows, batch.features)
        states: torch.Tensor = self._language(
            inputs_embeds=hidden[None],
            position_ids=batch.position_ids[:, None, tokens].to(self.device),
            attention_mask=None,
            use_cache=False,  # with a cache, packing would be off and prompts would attend to each other
            packing=plan.groups,
        ).last_hidden_state
        return states[0]

    def probes(self) -> Sequence[Probe]:
        """An image amid words and two texts, all of different lengths."""
        config, side = self.stock.config, self._patches.patch * self._patches.merge
        words, others = list(range(40, 52)), list(range(60, 70))
        num_tokens, grid = (
            BLOCK_ROWS * BLOCK_COLUMNS,
            (1, BLOCK_ROWS * self._patches.merge, BLOCK_COLUMNS * self._patches.merge),
        )
        pads = [config.image_token_id] * num_tokens
        y, x = np.mgrid[0 : BLOCK_ROWS * side, 0 : BLOCK_COLUMNS * side]
        pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)
        ids = [*words, config.vision_start_token_id, *pads, config.vision_end_token_id, *words]
        return [Probe(ids, pixels, len(words) + 1, num_tokens, grid), Probe([*words, *others[:6]]), Probe(others)]

    @torch.inference_mode()
    def stock_vector(self, probe: Probe) -> torch.Tensor:
        """Pooled of `stock_states`."""
        states = self.stock_states(probe)
        start, stop = self._span(0, len(states), np.arange(probe.offset, probe.offset + probe.num_tokens))
        return pool(states[start:stop], torch.tensor([0, stop - start], device=self.device), self._pooling)[0]

    @torch.inference_mode()
    def stock_states(self, probe: Probe) -> torch.Tensor:
        """Hidden states of a probe, `[num_tokens, hidden]`.

        The stock side does its own scatter, masks and layers; its positions too, where the family takes those.
        """
        ids = torch.tensor([probe.token_ids], device=self.device)
        inputs: dict[str, torch.Tensor] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if probe.pixels is not None:
            inputs["pixel_values"] = self._patches(torch.from_numpy(probe.pixels)).to(self.device, self.dtype)
            inputs["image_grid_thw"] = torch.tensor([probe.grid_thw], device=self.device)
            inputs["mm_token_type_ids"] = (ids == self.stock.config.image_token_id).int()
        if self._counts_plainly:
            inputs["position_ids"] = torch.arange(ids.shape[1], device=self.device).expand(3, 1, -1)
        try:
            with stock_attention("sdpa", self._language.config):
                states: torch.Tensor = self.stock(**inputs, use_cache=False).last_hidden_state[0]
        finally:
            self.stock.rope_deltas = None
        return states
