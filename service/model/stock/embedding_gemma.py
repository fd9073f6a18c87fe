"""EmbeddingGemma 2 as the engine runs it: the stock towers one medium at a time, the stock encoder over a packed batch.

Images, frames and audio go through their tower alone, without padding, so that their features may be cached by content;
features take the places of their placeholders. Attention is our own (`packed_attention.py`): all of a prompt, or a
window on both sides.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch.nn import functional
from transformers.modeling_utils import PreTrainedModel

from service.media.gemma_media import FRAMES_OF_TOKEN
from service.model.adapted import adapt
from service.model.backbone import Probe, Tower
from service.model.linear.cpu_backend import packed_products
from service.model.linear.products import TORCHS, PackedProducts, Products, pack_modules
from service.model.packed.packed_attention import PACKED, stock_attention
from service.model.packed.segments import BatchPart, Group, cut_parts
from service.model.states import States
from service.model.stock.stock_vlm import PackedVlm
from service.model.stock.text_encoder import MAX_PROBE_TOKENS, NUM_PADS, PART_TOKENS
from service.outputs.plan import TokenPlan

BLOCK_ROWS, BLOCK_COLUMNS = 2, 3
"""Visual tokens of the known image; the known frame has a row."""
AUDIO_S = 1.3
"""Seconds of the known audio: more tokens than the tower attends to at once."""


class EmbeddingGemma(PackedVlm):
    """A `Backbone`.

    Args:
        stock: an `EmbeddingGemma2Model`.
        audio: arguments of the class that makes features of audio; empty where there is no tower for it.
    """

    def __init__(self, stock: PreTrainedModel, audio: Mapping[str, Any]) -> None:
        super().__init__(stock)
        self.stock = cast(Any, stock)
        self._language = self.stock.language_model
        self._config: Any = self._language.config
        self._config._attn_implementation = PACKED
        self.width: int = self._config.embedding_dim
        config, self.placeholder_ids = self.stock.config, dict[str, int]()
        ids = [config.image_token_id, config.video_token_id, config.audio_token_id]
        self._media_ids = torch.tensor(ids, device=self.device)
        self._pad_id = int(self._config.pad_token_id or 0)
        if config.vision_config is not None:
            self.placeholder_ids |= {"image": config.image_token_id, "video": config.video_token_id}
            self.patch_size = int(config.vision_config.patch_size)
        if config.audio_config is not None:
            from transformers.models.gemma4.feature_extraction_gemma4 import Gemma4AudioFeatureExtractor

            self.placeholder_ids["audio"] = config.audio_token_id
            self._extractor: Any = Gemma4AudioFeatureExtractor(**audio)
        self._audio = dict(audio)
        self._products: Products = TORCHS

    @property
    def tower(self) -> Tower | None:
        """Both towers with their projections, and the numbers of the features of audio."""
        if not self.placeholder_ids:
            return None
        names = ("vision_tower", "embed_vision", "audio_tower", "embed_audio")
        parts = (getattr(self.stock, name, None) for name in names)
        modules = torch.nn.ModuleList([part for part in parts if part is not None])
        config = self.stock.config
        configs = [one.to_json_string() for one in (config.vision_config, config.audio_config) if one is not None]
        return Tower(modules, f"{configs}{self._audio}", self._config.hidden_size, self.dtype)

    def prepack(self) -> PackedProducts | None:
        """See `Backbone.prepack`; the encoder's alone, and not in bfloat16."""
        products = packed_products(self.device, self.dtype)
        if products is None or self.dtype != torch.float32:
            return None
        products = adapt(products, self._language)
        pack_modules(self._language, products)
        self._products = products
        return products

    @torch.inference_mode()
    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features of an image, of a frame `[1, height, width, 3]`, or of audio `[num_samples]`; `[tokens, hidden]`."""
        if pixels.ndim == 1:
            features, mask = self._mel(pixels)
            heard = self.stock.get_audio_features(features, mask, return_dict=True)
            return cast(torch.Tensor, heard.pooler_output[heard.attention_mask].contiguous())
        patches, places = self._patches(pixels.view(-1, *pixels.shape[-3:]))
        seen = self.stock.get_image_features(patches, places, return_dict=True).pooler_output
        return torch.cat(list(seen))

    def _mel(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-mel features, `[1, frames, mels]`, and which of the frames are whole."""
        found = self._extractor([samples.cpu().numpy()], return_tensors="pt")
        return found["input_features"].to(self.device), found["input_features_mask"].to(self.device)

    def _patches(self, pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Cut frames into patches, row by row; a patch is row × column × channel, from 0 to 1.

        Args:
            pixels: `[frames, height, width, 3]`, uint8.

        Returns:
            Patches `[frames, num_patches, 3 · patch²]`, float32; their columns and rows `[frames, num_patches, 2]`.

        Source: transformers 5.24 `Gemma4ImageProcessorPil`.
        """
        num_frames, height, width, channels = pixels.shape
        side = self.patch_size
        rows, columns = height // side, width // side
        blocks = (pixels.to(self.device).float() / 255).view(num_frames, rows, side, columns, side, channels)
        y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
        places = torch.stack([x, y], dim=-1).view(1, -1, 2).expand(num_frames, -1, -1)
        return blocks.transpose(2, 3).reshape(num_frames, rows * columns, -1), places.to(self.device)

    def _embed(self, token_ids: torch.Tensor) -> torch.Tensor:
        is_media = torch.isin(token_ids, self._media_ids)  # of which the stock module reads no embedding
        return super()._embed(token_ids.masked_fill(is_media, self._pad_id))

    def _forward(self, hidden: torch.Tensor, positions: torch.Tensor, groups: Sequence[Group]) -> torch.Tensor:
        most = PART_TOKENS if self.device.type == "cpu" else len(hidden)
        return torch.cat([self._part(hidden, positions, part) for part in cut_parts(groups, most)])

    def _part(self, hidden: torch.Tensor, positions: torch.Tensor, part: BatchPart) -> torch.Tensor:
        """A few prompts in one forward, `[num_tokens, width]`, filled up to a number of rows that there is code for."""
        own, num_tokens = slice(part.start, part.stop), part.stop - part.start
        num_padding = self._products.fill(num_tokens) - num_tokens
        rows: torch.Tensor = self._language(
            inputs_embeds=functional.pad(hidden[own], (0, 0, 0, num_padding))[None],
            position_ids=functional.pad(positions[:, own], (0, num_padding)),
            attention_mask=None,
            packing=part.groups,
        ).last_hidden_state[0]
        return rows[:num_tokens]

    def probes(self) -> Sequence[Probe]:
        """Texts of three lengths, one beyond the window, and each kind of media amid words."""
        longest = min(self._config.sliding_window + 20, MAX_PROBE_TOKENS)
        texts = [Probe(TokenPlan(self._words(*one))) for one in ((0, 12), (1, 7), (2, 12), (3, longest))]
        return [*texts, *(self._around(kind) for kind in self.placeholder_ids)]

    def _words(self, first: int, num_tokens: int) -> list[int]:
        """Ids of no placeholder."""
        num_ids, taken = int(self._config.vocab_size), {*self.placeholder_ids.values()}
        words = ((1 + first * 5 + place * 3) % num_ids for place in range(num_tokens))
        return [word if word not in taken else 1 for word in words]

    def _around(self, kind: str) -> Probe:
        """A known medium with words before and after it."""
        config, pixels, samples, grid = self.stock.config, None, None, (1, 1, 1)
        if kind == "audio":
            rate = int(self._extractor.sampling_rate)
            times = np.arange(round(AUDIO_S * rate)) / rate
            samples = (0.4 * np.sin(2 * np.pi * (200 + 900 * times) * times)).astype(np.float32)
            mask = self._mel(torch.from_numpy(samples))[1]
            num_tokens = -(-int(mask.sum()) // FRAMES_OF_TOKEN)
        else:
            side = config.vision_config.pooling_kernel_size
            rows, columns = (BLOCK_ROWS if kind == "image" else 1), BLOCK_COLUMNS
            num_tokens, grid = rows * columns, (1, rows * side, columns * side)
            y, x = np.mgrid[0 : grid[1] * self.patch_size, 0 : grid[2] * self.patch_size]
            pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)
            pixels = pixels if kind == "image" else pixels[None]
        before, after = self._words(4, 9), self._words(5, 5)
        ids = [*before, *[self.placeholder_ids[kind]] * num_tokens, *after]
        return Probe(TokenPlan(ids), pixels, len(before), num_tokens, grid, samples)

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> States:
        """The stock side does its own scatter, masks and positions, with padding of tokens, patches and frames."""
        num_tokens = len(probe.plan.ids)
        ids = torch.tensor([[*probe.plan.ids, *[self._pad_id] * NUM_PADS]], device=self.device)
        inputs = {"input_ids": ids, "attention_mask": (torch.arange(ids.shape[1]) < num_tokens)[None].long().to(ids)}
        if probe.pixels is not None:
            pixels = torch.from_numpy(probe.pixels)
            patches, places = self._patches(pixels.view(-1, *pixels.shape[-3:]))
            more = self.stock.config.vision_config.pooling_kernel_size**2
            patches = functional.pad(patches, (0, 0, 0, more))
            places = functional.pad(places, (0, 0, 0, more), value=-1)
            if pixels.ndim == 3:
                inputs |= {"pixel_values": patches, "image_position_ids": places}
            else:
                inputs |= {"pixel_values_videos": patches, "video_position_ids": places}
                inputs["num_frames_per_video"] = torch.tensor([len(pixels)])
        if probe.samples is not None:
            features, mask = self._mel(torch.from_numpy(probe.samples))
            inputs["input_features"] = functional.pad(features, (0, 0, 0, NUM_PADS))
            inputs["input_features_mask"] = functional.pad(mask, (0, NUM_PADS))
        with stock_attention("eager", self._config):
            states = self.stock(**inputs).last_hidden_state
        return States(states[0, :num_tokens], [num_tokens])
