"""ColModernVBERT, ColSmol and ColPali as the engine runs them: SigLIP over tiles, text model over a packed batch.

An image's features are of its whole block of tokens: those of its tiles, and the embeddings of the tokens that stand
between them, which only name rows and columns. So a block is one run of placeholders, and is cached as one. ColPali's
image is one tile with nothing around it, and every token of a prompt attends to all of them.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from PIL import Image
from transformers.modeling_utils import PreTrainedModel

from service.checkpoint.config_files import CheckpointFiles
from service.checkpoint.image_processor import processor_class, read_square
from service.checkpoint.late.image_block import BareBlock, ImageBlock, LineBlock
from service.checkpoint.late.tile_processor import TileProcessor, tile_tokens
from service.media.line_rule import SCALING, LineRule
from service.model.backbone import Probe, StockRun, Tower
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.states import States
from service.model.stock.stock_vlm import PackedVlm
from service.model.two_tower.two_tower import image_inputs
from service.outputs.plan import TokenPlan

TILES_AT_ONCE = 4
"""Tiles of one forward of the tower, so that a page of seventeen takes little memory."""


class TileVlm(PackedVlm):
    """A `Backbone`.

    Args:
        whole: the stock module with a head of its own, which the known-answer check runs; `stock` where it has none.
        block: the tokens around tiles.
        num_tile_tokens: visual tokens of a tile.
    """

    parts = ("vision_model", "connector", "text_model")
    """Names of the stock module's tower, of what brings its states to the text model's width, and of the latter."""

    def __init__(
        self,
        stock: PreTrainedModel,
        whole: PreTrainedModel,
        processor: TileProcessor,
        block: ImageBlock | BareBlock | LineBlock,
        num_tile_tokens: int,
    ) -> None:
        self._vlm, self._whole = cast(Any, stock), cast(Any, whole)
        self._vision, self._connector, self._language = (getattr(self._vlm, name) for name in self.parts)
        self._language.config._attn_implementation = PACKED
        self._processor, self._block, self._tile_tokens = processor, block, num_tile_tokens
        self.width: int = self._language.config.hidden_size
        super().__init__(self._vlm)
        self.placeholder_ids = {"image": block.image}
        self.patch_size = processor.tile

    @classmethod
    def of_checkpoint(cls, folder: Path, stock: PreTrainedModel, whole: PreTrainedModel) -> "TileVlm":
        """With what the folder says of tiles."""
        processor = TileProcessor.read(CheckpointFiles(folder))
        block = ImageBlock.read(folder, -(-processor.longest // processor.tile))
        return cls(stock, whole, processor, block, tile_tokens(folder))

    @property
    def tower(self) -> Tower:
        """All that features are made of: tower, connector, and the embeddings of the tokens between tiles."""
        parts = torch.nn.ModuleList([self._vision, self._connector, self._language.get_input_embeddings()])
        config_json = json.dumps([self._vlm.config.to_dict(), str(self._processor), str(self._block)], default=str)
        return Tower(parts, config_json, self.width, self.dtype)

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of an image's block, `[tokens, hidden]`."""
        tiles, (rows, columns) = self._tiles(pixels)
        ids = torch.tensor(self._block.ids(rows, columns, self._tile_tokens), device=self.device)
        features = self._embed(ids)
        features[ids == self._block.image] = self._see(tiles.to(self.dtype)).to(features.dtype)
        return features

    def _see(self, tiles: torch.Tensor) -> torch.Tensor:
        """Features of visual tokens, `[tokens, hidden]`."""
        few = torch.split(tiles, TILES_AT_ONCE)
        seen = [self._connector(self._vision(pixel_values=one).last_hidden_state) for one in few]
        return torch.cat(seen).flatten(0, 1)

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

    def probes(self) -> Sequence[Probe]:
        """A page of two tiles, one of a lone tile, and two texts."""
        words, others = list(range(40, 52)), list(range(60, 70))

        def page(rows: int, columns: int) -> Probe:
            side = self._processor.tile
            y, x = np.mgrid[0 : rows * side, 0 : columns * side]
            pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)
            num = len(self._block.ids(rows, columns, self._tile_tokens))
            ids = [*words, *[self._block.image] * num, *others]
            units = self._processor.tile // self.patch_size
            return Probe(TokenPlan(ids), pixels, len(words), num, (1, rows * units, columns * units))

        pages = [page(1, 2)] if self._processor.longest > self._processor.tile else []
        return [*pages, page(1, 1), Probe(TokenPlan([*words, *others[:6]])), Probe(TokenPlan(others))]

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> StockRun:
        """All of the stock module's own: tower, scatter, masks, layers; projection and norm, where it has them."""
        ids, inputs = list(probe.plan.ids), dict[str, torch.Tensor]()
        if probe.pixels is not None:
            tiles, (rows, columns) = self._tiles(torch.from_numpy(probe.pixels))
            block = self._block.ids(rows, columns, self._tile_tokens)
            ids[probe.offset : probe.offset + probe.num_tokens] = block
            inputs["pixel_values"] = tiles[None].to(self.dtype)
        tokens = torch.tensor([ids], device=self.device)
        return self._run(input_ids=tokens, attention_mask=torch.ones_like(tokens), **inputs)

    def _run(self, **inputs: torch.Tensor) -> StockRun:
        with stock_attention("sdpa", self._language.config):
            if self._whole is not self._vlm:
                return cast(torch.Tensor, self._whole(**inputs).embeddings[0])
            states: torch.Tensor = self._vlm(**inputs).last_hidden_state[0]
        return States(states, [len(states)])


class SquareVlm(TileVlm):
    """PaliGemma: every image is one square of the tower's size."""

    parts = ("vision_tower", "multi_modal_projector", "language_model")

    @classmethod
    def of_checkpoint(cls, folder: Path, stock: PreTrainedModel, whole: PreTrainedModel) -> "SquareVlm":
        """With what the folder says of the square."""
        found, config = read_square(folder, processor_class(folder)), cast(Any, stock).config
        patch = config.vision_config.patch_size
        processor = TileProcessor(found.side, found.side, found.resample)
        made = cls(stock, whole, processor, BareBlock(config.image_token_id), (found.side // patch) ** 2)
        made.patch_size = patch
        return made

    def _run(self, **inputs: torch.Tensor) -> StockRun:
        """All of a prompt is a prefix, by its types of tokens."""
        if "pixel_values" in inputs:
            inputs["pixel_values"] = inputs["pixel_values"][0]
        return super()._run(token_type_ids=torch.zeros_like(inputs["input_ids"]), **inputs)


class LineVlm(TileVlm):
    """Mistral 3: an image is lines of visual tokens, each with a token at its end."""

    parts = SquareVlm.parts

    @classmethod
    def of_checkpoint(cls, folder: Path, stock: PreTrainedModel, whole: PreTrainedModel) -> "LineVlm":
        """With what the folder says of lines. An `is_causal` of the whole counts before the decoder's."""
        rule = LineRule.read(CheckpointFiles(folder))
        if (is_causal := getattr(stock.config, "is_causal", None)) is not None:
            cast(Any, stock).language_model.config.is_causal = is_causal
        unit = rule.patches.patch_size
        return cls(stock, whole, TileProcessor(unit, 2 * unit, rule.resample), rule.block, 1)

    def _tiles(self, pixels: torch.Tensor) -> tuple[torch.Tensor, tuple[int, int]]:
        """The image, `[1, 3, height, width]`; its lines, and visual tokens of a line."""
        rows, columns = (length // self.patch_size for length in pixels.shape[:2])
        return image_inputs(pixels, SCALING, self.device, None)["pixel_values"], (rows, columns)

    def _see(self, tiles: torch.Tensor) -> torch.Tensor:
        """The stock module loses an axis where there is one visual token alone: that one is seen twice."""
        copies = 2 if tiles.shape[-1] == tiles.shape[-2] == self.patch_size else 1
        sizes = torch.tensor([tiles.shape[-2:]] * copies)
        seen = self._vlm.get_image_features(tiles.expand(copies, -1, -1, -1), image_sizes=sizes, return_dict=True)
        return cast(torch.Tensor, seen.pooler_output[0])

    def _run(self, **inputs: torch.Tensor) -> StockRun:
        """The prompt twice, for the same reason."""
        both = {name: torch.cat([one, one]) for name, one in inputs.items()}
        if "pixel_values" in both:
            both["pixel_values"] = both["pixel_values"].flatten(0, 1)
            both["image_sizes"] = torch.tensor([both["pixel_values"].shape[-2:]] * 2)
        return super()._run(**both)
