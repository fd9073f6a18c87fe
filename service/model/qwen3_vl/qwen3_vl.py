"""Qwen3-VL as the engine runs it: our vision tower and our decoder on the stock module's weights."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray

from service.model.adapted import adapt
from service.model.backbone import Backbone, Grid, Needs, Probe, Tower
from service.model.linear.bf16_gemm import Gemm
from service.model.linear.bf16x3_linear import MakeBf16x3, keep_bfloat16
from service.model.linear.cpu_backend import packed_products, packed_products_of_tower
from service.model.linear.linear import give_back
from service.model.linear.products import TORCHS, PackedProducts, torchs
from service.model.packed.packed_batch import PackedBatch
from service.model.positions import mrope_positions
from service.model.qwen3_vl.captured_language import load_decoder
from service.model.qwen3_vl.captured_vision import load_tower
from service.model.qwen3_vl.language import LanguageModel
from service.model.qwen3_vl.tower_block import MERGE, PATCH
from service.model.qwen3_vl.vision import VisionTower
from service.model.states import States
from service.outputs.plan import TokenPlan

if TYPE_CHECKING:
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLModel

HEIGHT, WIDTH = 64, 96
GRID_THW = (1, 4, 6)
NUM_VISUAL_TOKENS = 6
TEMPORAL = 2
"""Frames of a patch."""


class Qwen3VL(Backbone):
    """A `Backbone`.

    Attributes:
        stock: the module whose weights these are.
        vision: images to features.
        language: packed prompts to hidden states; `--weights int8` puts another in its place.
    """

    def __init__(self, stock: "Qwen3VLModel") -> None:
        super().__init__(stock)
        self.stock = stock
        self.vision = load_tower(stock, adapt(TORCHS, stock))
        self.language = load_decoder(stock, adapt(TORCHS, stock))
        self.width = self.language.hidden_size
        self.placeholder_ids = {"image": stock.config.image_token_id, "video": stock.config.video_token_id}
        self.patch_size = PATCH

    def multiply_in_bfloat16(self, gemm: Gemm, *, with_decoder: bool) -> float:
        """Keep matrices in the checkpoint's bfloat16 and multiply by parts, as exactly as before.

        The stock module's own forward cannot be run any more.

        Args:
            with_decoder: the decoder's matrices too; the tower's in any case.

        Returns:
            the share of their numbers that are kept so; the rest stays as it was.
        """
        products = torchs(MakeBf16x3(gemm))
        del self.vision  # it holds the matrices that are about to be given back
        if not with_decoder:
            share = keep_bfloat16(self.stock.visual)
        else:
            del self.language
            share = keep_bfloat16(self.stock)
            self.language = LanguageModel(self.stock, products=products)
        self.vision = VisionTower(self.stock, products)
        return share

    def prepack(self) -> PackedProducts | None:
        """See `Backbone.prepack`; not for matrices that are multiplied in parts."""
        is_in_parts = any(weight.dtype != self.dtype for weight in self.stock.parameters())
        products = packed_products(self.device, self.dtype)
        if is_in_parts or products is None:
            return None
        of_tower, products = packed_products_of_tower(self.device, self.dtype), adapt(products, self.stock)
        if of_tower is not None:
            of_tower = adapt(of_tower, self.stock)
        del self.language  # it holds the matrices that are about to be given back
        self.language = LanguageModel(self.stock, products=products)
        if of_tower is not None:
            del self.vision
            self.vision = VisionTower(self.stock, of_tower)
            give_back(self.stock.visual)
        return products

    @property
    def tower(self) -> Tower:
        """The vision tower."""
        config = cast("Qwen3VLVisionConfig", self.stock.config.vision_config)
        width = config.out_hidden_size * (1 + len(config.deepstack_visual_indexes))
        return Tower(self.stock.visual, config.to_json_string(), width, self.vision.dtype)

    def positions(self, num_tokens: int, placeholders: Iterable[tuple[int, Grid]]) -> NDArray[np.int64]:
        """`[4, num_tokens]`: plain, temporal, height, width."""
        return mrope_positions(num_tokens, placeholders)

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """Main features and deepstack levels side by side."""
        return self.vision.encode(pixels)

    def states(self, batch: PackedBatch, needs: Needs) -> States:
        """See `Backbone.states`."""
        lengths = [1] * len(batch.segment_lengths) if needs == "last" else batch.segment_lengths
        return States(self.language.forward(batch, last_only=needs == "last"), lengths)

    def probes(self) -> Sequence[Probe]:
        """An image, a pair of frames and two texts, of which three begin alike: a common beginning, and without."""
        config = self.stock.config
        words, others = list(range(40, 52)), list(range(60, 70))
        y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
        pixels = np.stack([2 * x, 3 * y, x + y], axis=-1).astype(np.uint8)

        def seen(pixels: NDArray[np.uint8], pad_id: int) -> Probe:
            pads = [pad_id] * NUM_VISUAL_TOKENS
            ids = [*words, config.vision_start_token_id, *pads, config.vision_end_token_id, *words]
            return Probe(TokenPlan(ids), pixels, len(words) + 1, NUM_VISUAL_TOKENS, GRID_THW)

        image = seen(pixels, config.image_token_id)
        pair = seen(np.stack([pixels, 255 - pixels]), config.video_token_id)
        return [image, pair, Probe(TokenPlan([*words, *others[:6]])), Probe(TokenPlan(others))]

    @torch.inference_mode()
    def stock_run(self, probe: Probe) -> States:
        """Hidden states of a probe; the stock side computes its own positions, scatter, masks and layers."""
        stock = self.stock
        try:
            ids = torch.tensor([probe.plan.ids], device=stock.device)
            inputs: dict[str, torch.Tensor] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            if probe.pixels is not None:
                inputs |= self._stock_media(torch.from_numpy(probe.pixels), ids, probe.grid_thw)
            states: torch.Tensor = stock(**inputs, use_cache=False).last_hidden_state[0]
        finally:
            stock.rope_deltas = None
        return States(states, [len(states)])

    def _stock_media(self, pixels: torch.Tensor, ids: torch.Tensor, grid_thw: Grid) -> dict[str, torch.Tensor]:
        """Arguments of the stock forward for an image or a pair of frames."""
        stock, is_pair = self.stock, pixels.ndim == 4
        patches = patchify_pair(*pixels) if is_pair else patchify(pixels)
        grid = torch.tensor([grid_thw], device=stock.device)
        pad_id = stock.config.video_token_id if is_pair else stock.config.image_token_id
        return {
            "pixel_values_videos" if is_pair else "pixel_values": patches.to(stock.device, stock.dtype),
            "video_grid_thw" if is_pair else "image_grid_thw": grid,
            "mm_token_type_ids": (ids == pad_id).int() * (2 if is_pair else 1),
        }


def patchify(pixels: torch.Tensor) -> torch.Tensor:
    """``x / 127.5 - 1``, cut into 16 × 16 patches that walk 2 × 2 merge blocks, the still frame twice.

    Args:
        pixels: `[height, width, 3]`, uint8; both sides multiples of 32.

    Returns:
        `[height / 16 · width / 16, 1536]`, float32; a row is channel × frame × patch row × patch column, and rows go
        by (block row, block column, row in block, column in block).

    Source: transformers `Qwen2VLImageProcessor._preprocess`.
    """
    height, width, channels = pixels.shape
    rows, columns = height // (PATCH * MERGE), width // (PATCH * MERGE)
    blocks = (pixels.float() / 127.5 - 1).view(rows, MERGE, PATCH, columns, MERGE, PATCH, channels)
    patches = blocks.permute(0, 3, 1, 4, 6, 2, 5)  # block row, block column, row, column, channel, y, x
    still = patches.unsqueeze(5).expand(-1, -1, -1, -1, -1, TEMPORAL, -1, -1)
    return still.reshape(rows * columns * MERGE * MERGE, channels * TEMPORAL * PATCH * PATCH)


def patchify_pair(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """The same for two frames of a video: each patch has one after the other where a still image stands twice."""
    halves = [patchify(frame).view(-1, 3, TEMPORAL, PATCH * PATCH) for frame in (first, second)]
    return torch.stack([halves[0][:, :, 0], halves[1][:, :, 1]], dim=2).flatten(1)
