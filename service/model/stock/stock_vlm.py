"""Qwen2-VL, Qwen3.5 and similar models in the engine: the stock tower, and the stock decoder over a packed batch.

Images go through the tower one at a time, so that their features may be cached by content. Prompts stand one after
the other without padding, sorted by length; features take the places of their placeholders, and attention is our own
(`packed_attention.py`). How positions are numbered is the family's choice, not the architecture's: references differ.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.modeling_utils import PreTrainedModel

from cenote_kernels import scatter
from service.media.item import MediaKind
from service.model.backbone import Backbone, Grid, Needs, Probe, StockRun, Tower
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import Group, plan_segments
from service.model.positions import plain_positions, rope_positions
from service.model.states import States
from service.model.stock.still_patches import StillPatches
from service.outputs.plan import TokenPlan

BLOCK_ROWS, BLOCK_COLUMNS = 2, 3
"""Visual tokens of the known image."""


class PackedVlm(Backbone):
    """A `Backbone` on a stock text model, which runs a packed batch."""

    _language: Any
    """That model."""

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """See `Backbone.states`; those of all tokens."""
        lengths, visual = batch.segment_lengths, batch.visual.index.numpy()
        plan = plan_segments(batch.token_ids.numpy(), lengths, visual, may_share=False)
        tokens = torch.from_numpy(plan.tokens)
        hidden = self._embed(batch.token_ids[tokens].to(self.device))
        if len(visual):
            scatter(hidden, torch.from_numpy(plan.row[visual]).to(self.device), batch.visual.features)
        rows = self._forward(hidden, batch.position_ids[:, tokens].to(self.device), plan.groups)
        return States(rows, [lengths[i] for i in plan.order], plan.order)

    def _embed(self, token_ids: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self._language.get_input_embeddings()(token_ids))

    def _forward(self, hidden: torch.Tensor, positions: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        """States `[num_tokens, width]` of embeddings, at positions `[rows, num_tokens]`."""
        states = self._language(
            inputs_embeds=hidden[None],
            position_ids=positions[:, None] if len(positions) > 1 else positions,
            attention_mask=None,
            use_cache=False,  # with a cache, packing would be off and prompts would attend to each other
            packing=groups,
        ).last_hidden_state
        return cast(torch.Tensor, states[0])


class StockVlm(PackedVlm):
    """A `Backbone`.

    Args:
        stock: a module with `visual`, `language_model` and `get_image_features`.
        patches: pixels to patches.
        whole: the stock module with a head of its own, which the known-answer check runs; None where `stock` is whole.
        counts_plainly: positions count 0, 1, 2, ... also through an image; see `plain_positions`.
        of_image: of a prompt with an image, pooling reads from `<|vision_start|>` to `<|vision_end|>` alone.
        sees_videos: it takes pairs of frames, too.
    """

    def __init__(
        self,
        stock: PreTrainedModel,
        patches: StillPatches,
        whole: PreTrainedModel | None = None,
        *,
        counts_plainly: bool = False,
        of_image: bool = False,
        sees_videos: bool = False,
    ) -> None:
        super().__init__(stock)
        self.stock = cast(Any, stock)  # Qwen2VLModel, Qwen2_5_VLModel or Qwen3_5Model, which have no common type
        self._language = self.stock.language_model
        self._language.config._attn_implementation = PACKED
        self._patches = patches
        self.patch_size = patches.patch
        self._whole = whole
        self._counts_plainly = counts_plainly
        self._of_image = of_image
        self.width: int = self._language.config.hidden_size
        kinds = ("image", "video") if sees_videos else ("image",)
        self.placeholder_ids = {kind: int(getattr(self.stock.config, f"{kind}_token_id")) for kind in kinds}

    @property
    def tower(self) -> Tower:
        """The vision tower; the processor's numbers are part of what it makes of an image."""
        config_json = f"{self.stock.visual.config.to_json_string()}{self._patches}"
        return Tower(self.stock.visual, config_json, self.width, self.dtype)

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[3, num_tokens]`: temporal, height, width."""
        return (plain_positions if self._counts_plainly else rope_positions)(num_tokens, placeholders)

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """The merged output of the stock tower, `[tokens, hidden]`."""
        patches = self._patches(pixels.to(self.device))
        grid = torch.tensor([self._patches.grid_thw(pixels)], device=self.device)
        (features,) = self.stock.get_image_features(patches, grid, return_dict=True).pooler_output
        return cast(torch.Tensor, features.contiguous())

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """See `Backbone.states`."""
        states, visual = super().states(batch, needs), batch.visual.index.numpy()
        is_cut = self._of_image and len(visual)
        return states.of_spans(_images(batch.segment_lengths, visual)) if is_cut else states

    def probes(self) -> Sequence[Probe]:
        """An image amid words, a pair of frames where it takes them, and two texts, all of different lengths."""
        config, side = self.stock.config, self._patches.patch * self._patches.merge
        words, others = list(range(40, 52)), list(range(60, 70))
        num_tokens = BLOCK_ROWS * BLOCK_COLUMNS
        grid = (1, BLOCK_ROWS * self._patches.merge, BLOCK_COLUMNS * self._patches.merge)
        y, x = np.mgrid[0 : BLOCK_ROWS * side, 0 : BLOCK_COLUMNS * side]
        pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)

        def seen(kind: MediaKind, pixels: NDArray[np.uint8], after: Sequence[int]) -> Probe:
            pads = [self.placeholder_ids[kind]] * num_tokens
            ids = [*words, config.vision_start_token_id, *pads, config.vision_end_token_id, *after]
            return Probe(TokenPlan(ids), pixels, len(words) + 1, num_tokens, grid)

        pairs = [seen("video", np.stack([pixels, 255 - pixels]), others)] if "video" in self.placeholder_ids else []
        texts = [Probe(TokenPlan(ids)) for ids in ([*words, *others[:6]], others)]
        return [seen("image", pixels, words), *pairs, *texts]

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> StockRun:
        """The stock side does its own scatter, masks and layers; its positions too, where the family takes those."""
        ids = torch.tensor([probe.plan.ids], device=self.device)
        inputs: dict[str, torch.Tensor] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        inputs |= self._media(probe)
        with stock_attention("eager", self._language.config):  # `sdpa` is causal of what is not, without padding
            if self._whole is not None:
                return cast(torch.Tensor, cast(Any, self._whole)(**inputs, use_cache=False).embeddings[0])
            states = States(self._stock_states(ids, inputs), [ids.shape[1]])
        visual = np.arange(probe.offset, probe.offset + probe.num_tokens)
        return states.of_spans(_images(states.lengths, visual)) if self._of_image else states

    def _media(self, probe: Probe) -> dict[str, torch.Tensor]:
        """The stock module's arguments for what a probe shows."""
        if probe.pixels is None:
            return {}
        patches = self._patches(torch.from_numpy(probe.pixels)).to(self.device, self.dtype)
        grid = torch.tensor([probe.grid_thw], device=self.device)
        if probe.pixels.ndim == 4:
            return {"pixel_values_videos": patches, "video_grid_thw": grid}
        return {"pixel_values": patches if self._whole is None else patches[None], "image_grid_thw": grid}

    def _stock_states(self, ids: torch.Tensor, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Hidden states of a probe, `[num_tokens, width]`."""
        if len(inputs) > 2 and not hasattr(self.stock, "audio_tower"):
            inputs["mm_token_type_ids"] = (ids == self.placeholder_ids["image"]).int()
            if (video := self.placeholder_ids.get("video")) is not None:
                inputs["mm_token_type_ids"] += 2 * (ids == video).int()
        if self._counts_plainly:
            inputs["position_ids"] = torch.arange(ids.shape[1], device=self.device).expand(3, 1, -1)
        try:
            states: torch.Tensor = self.stock(**inputs, use_cache=False).last_hidden_state[0]
        finally:
            self.stock.rope_deltas = None
        return states


def _images(lengths: Sequence[int], visual: NDArray[np.int64]) -> list[list[tuple[int, int]]]:
    """Of each prompt the stretch of its image, with the tokens that stand around it; none without an image.

    Args:
        visual: `[visual_tokens]`, ascending: where placeholders are among the tokens of all prompts.
    """
    starts = np.cumsum(lengths) - lengths
    own = np.split(visual, np.searchsorted(visual, starts[1:]))
    return [
        [(int(one[0] - start) - 1, int(one[-1] - start) + 2)] if len(one) else []
        for start, one in zip(starts, own, strict=True)
    ]
