"""ColModernVBERT as the engine runs it: SigLIP over tiles, ModernBERT over a packed batch.

An image's features are of its whole block of tokens: those of its tiles, and the embeddings of the tokens that stand
between them, which only name rows and columns. So a block is one run of placeholders, and is cached as one.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from PIL import Image
from transformers import PreTrainedModel

from cenote_kernels import scatter
from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.late.image_block import ImageBlock
from service.checkpoint.late.tile_processor import TileProcessor, tile_tokens
from service.model.backbone import Backbone, Needs, Probe, Tower
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.packed.packed_batch import PackedBatch
from service.model.packed.segments import plan_segments
from service.model.states import States
from service.outputs.plan import TokenPlan

TILES_AT_ONCE = 4
"""Tiles of one forward of the tower, so that a page of seventeen takes little memory."""


class TileVlm(Backbone):
    """A `Backbone`.

    Args:
        retrieval: transformers' own.
        processor: of the checkpoint.
        block: the tokens around tiles.
        num_tile_tokens: visual tokens of a tile.
    """

    def __init__(
        self, retrieval: PreTrainedModel, processor: TileProcessor, block: ImageBlock, num_tile_tokens: int
    ) -> None:
        self._retrieval = cast(Any, retrieval)
        self._vlm: Any = self._retrieval.vlm
        self._text: Any = self._vlm.text_model
        self._text.config._attn_implementation = PACKED
        self._processor, self._block, self._tile_tokens = processor, block, num_tile_tokens
        self.width: int = self._text.config.hidden_size
        super().__init__(self._vlm)
        self.placeholder_ids = {"image": block.image}
        self.patch_size = processor.tile

    @classmethod
    def of_checkpoint(cls, folder: Path, retrieval: PreTrainedModel) -> "TileVlm":
        """With what the folder says of tiles."""
        processor = TileProcessor.read(CheckpointFiles(folder))
        block = ImageBlock.read(folder, -(-processor.longest // processor.tile))
        return cls(retrieval, processor, block, tile_tokens(folder))

    @property
    def tower(self) -> Tower:
        """All that features are made of: tower, connector, and the embeddings of the tokens between tiles."""
        parts = torch.nn.ModuleList([self._vlm.vision_model, self._vlm.connector, self._embeddings])
        config_json = json.dumps([self._vlm.config.to_dict(), str(self._processor), str(self._block)], default=str)
        return Tower(parts, config_json, self.width, self.dtype)

    @property
    def _embeddings(self) -> torch.nn.Embedding:
        found: torch.nn.Embedding = self._text.get_input_embeddings()
        return found

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of an image's block, `[tokens, hidden]`."""
        tiles, (rows, columns) = self._tiles(pixels)
        ids = torch.tensor(self._block.ids(rows, columns, self._tile_tokens), device=self.device)
        features = self._embeddings(ids)
        seen = [self._vlm.connector(self._see(few)) for few in torch.split(tiles, TILES_AT_ONCE)]
        features[ids == self._block.image] = torch.cat(seen).flatten(0, 1).to(features.dtype)
        return cast(torch.Tensor, features)

    def _see(self, tiles: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self._vlm.vision_model(pixel_values=tiles.to(self.dtype)).last_hidden_state
        return states

    def _tiles(self, pixels: torch.Tensor) -> tuple[torch.Tensor, tuple[int, int]]:
        """Tiles row by row and the whole image after them, `[n, 3, tile, tile]` from -1 to 1; rows and columns."""
        side = self._processor.tile
        rows, columns = pixels.shape[0] // side, pixels.shape[1] // side
        tiles = pixels.view(rows, side, columns, side, 3).transpose(1, 2).reshape(-1, side, side, 3)
        if rows * columns > 1:
            whole = Image.fromarray(pixels.cpu().numpy())
            small = whole.resize((side, side), Image.Resampling(self._processor.resample))
            tiles = torch.cat([tiles, torch.from_numpy(np.array(small)).to(tiles.device)[None]])
        return ((tiles.to(self.device).float() / 255 - 0.5) / 0.5).permute(0, 3, 1, 2), (rows, columns)

    @torch.inference_mode()
    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """See `Backbone.states`."""
        lengths, visual = batch.segment_lengths, batch.visual.index.numpy()
        plan = plan_segments(batch.token_ids.numpy(), lengths, visual, may_share=False)
        tokens = torch.from_numpy(plan.tokens)
        hidden = self._embeddings(batch.token_ids[tokens].to(self.device))
        if len(visual):
            places = torch.from_numpy(plan.row[visual]).to(self.device)
            scatter(hidden, places, batch.visual.features)
        rows: torch.Tensor = self._text(
            inputs_embeds=hidden[None],
            position_ids=batch.position_ids[:, tokens].to(self.device),
            attention_mask=None,
            packing=plan.groups,
        ).last_hidden_state[0]
        return States(rows, [lengths[i] for i in plan.order], plan.order)

    def probes(self) -> Sequence[Probe]:
        """A page of two tiles, one of a lone tile, and two texts."""
        words, others = list(range(40, 52)), list(range(60, 70))

        def page(rows: int, columns: int) -> Probe:
            side = self._processor.tile
            y, x = np.mgrid[0 : rows * side, 0 : columns * side]
            pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)
            num = len(self._block.ids(rows, columns, self._tile_tokens))
            ids = [*words, *[self._block.image] * num, *others]
            return Probe(TokenPlan(ids), pixels, len(words), num, (1, rows, columns))

        pages = [page(1, 2)] if self._processor.longest > self._processor.tile else []
        return [*pages, page(1, 1), Probe(TokenPlan([*words, *others[:6]])), Probe(TokenPlan(others))]

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> torch.Tensor:
        """All of the stock module's own: tower, scatter, masks, layers, projection, norm."""
        ids, inputs = list(probe.plan.ids), dict[str, torch.Tensor]()
        if probe.pixels is not None:
            tiles, (rows, columns) = self._tiles(torch.from_numpy(probe.pixels))
            block = self._block.ids(rows, columns, self._tile_tokens)
            ids[probe.offset : probe.offset + probe.num_tokens] = block
            inputs["pixel_values"] = tiles[None].to(self.dtype)
        tokens = torch.tensor([ids], device=self.device)
        with stock_attention("sdpa", self._text.config):
            vectors: torch.Tensor = self._retrieval(
                input_ids=tokens, attention_mask=torch.ones_like(tokens), **inputs
            ).embeddings[0]
        return vectors
