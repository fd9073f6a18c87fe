"""The true 2B shape with random weights, made on the device: no file. The only place that knows the model's classes."""

import copy
from dataclasses import dataclass

import numpy as np
import torch
from transformers import Qwen3VLConfig, Qwen3VLModel

from cenote_kernels import as_tensor, epilogue
from service.model.packed.packed_batch import PackedBatch, VisualTokens
from service.model.positions import mrope_positions
from service.model.qwen3_vl.captured_language import load_decoder
from service.model.qwen3_vl.captured_vision import load_tower
from service.model.qwen3_vl.language import LanguageModel
from service.model.qwen3_vl.vision import VisionTower
from service.outputs.dense import DenseAsk
from tests.gpu.stage import Stage

IMAGE_TOKEN = 5
FIRST_WORD = 16
TEXT = {
    "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {
        "rope_type": "default", "rope_theta": 5e6, "mrope_section": [24, 20, 20], "mrope_interleaved": True
    },
}  # fmt: skip
VISION = {
    "depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16, "out_hidden_size": 2048,
    "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, "num_position_embeddings": 2304,
    "deepstack_visual_indexes": [5, 11, 17],
}  # fmt: skip
TEXT_8B = {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32}
TINY_TEXT = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 2,
             "num_key_value_heads": 1, "vocab_size": 512}  # fmt: skip
TINY_VISION = {"depth": 4, "hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "out_hidden_size": 128,
               "num_position_embeddings": 256, "deepstack_visual_indexes": [1, 2]}  # fmt: skip


@dataclass(slots=True)
class Model2B:
    """Both halves of the model as the engine has them.

    Attributes:
        vision: images to features.
        language: packed tokens to hidden states.
        stock: the weights.
    """

    vision: VisionTower
    language: LanguageModel
    stock: Qwen3VLModel

    def vectors(self, batch: PackedBatch) -> torch.Tensor:
        """`[num_requests, hidden]`, float32, on the host."""
        hidden = self.language.forward(batch, last_only=True)
        outputs = [DenseAsk(dimensions=hidden.shape[1])] * len(batch.segment_lengths)
        rows = epilogue(hidden, torch.arange(len(hidden) + 1), outputs)
        return torch.stack([as_tensor(row["float32"], "float32") for row in rows if row is not None])

    def flop(self, batch: PackedBatch) -> int:
        """Of the decoder alone: two for each weight and token, and what causal attention needs of its two products."""
        text = self.stock.config.text_config
        weights = sum(one.numel() for one in self.stock.language_model.layers.parameters() if one.dim() > 1)
        width = text.num_attention_heads * text.head_dim * text.num_hidden_layers
        return 2 * weights * sum(batch.segment_lengths) + sum(2 * width * n * n for n in batch.segment_lengths)


def make(stage: Stage, *, is_8b: bool = False) -> Model2B:
    """Seeded random weights in bfloat16 on the device, as transformers draws them; with `is_8b` the 8B's decoder.

    Not doubled as in the oracle's checkpoint: over 28 layers that magnifies bfloat16's own rounding past the bar.
    """
    text, vision = ({**TEXT, **TINY_TEXT}, {**VISION, **TINY_VISION}) if stage.is_dry else (TEXT, VISION)
    if is_8b and not stage.is_dry:
        text, vision = TEXT | TEXT_8B, VISION | {"out_hidden_size": TEXT_8B["hidden_size"]}
    config = Qwen3VLConfig(text_config=text, vision_config=vision, image_token_id=IMAGE_TOKEN)
    torch.manual_seed(20261121)
    with torch.device(stage.device):
        stock = Qwen3VLModel._from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa")
    with torch.no_grad():
        for parameter in stock.parameters():
            if parameter.dim() == 1:  # trivial norms and biases would hide faults
                parameter.add_(torch.randn_like(parameter) * 0.05)
    return _wrap(stock)


def in_float32(model: Model2B) -> Model2B:
    """The same weights, computed with in float32: the oracle."""
    stock = copy.deepcopy(model.stock)
    torch.nn.Module.float(stock)
    return _wrap(stock)


def _wrap(stock: Qwen3VLModel) -> Model2B:
    stock.train(False)
    stock.requires_grad_(False)
    return Model2B(load_tower(stock), load_decoder(stock), stock)


def text_batch(lengths: list[int], vocabulary: int, seed: int = 0, num_shared: int = 0) -> PackedBatch:
    """Requests of random words, of which so many at their beginnings are the same."""
    rng = np.random.default_rng(seed)
    words = rng.integers(FIRST_WORD, vocabulary, sum(lengths))
    for start in np.cumsum(lengths) - lengths:
        words[start : start + num_shared] = words[:num_shared]
    positions = np.concatenate([mrope_positions(length, []) for length in lengths], axis=1)
    return PackedBatch(torch.from_numpy(words), torch.from_numpy(positions), lengths)


def image_batch(
    features: list[torch.Tensor], grid: tuple[int, int, int], num_words: int, vocabulary: int, seed: int = 0
) -> PackedBatch:
    """Requests of some words, an image, some words: an instruction each, and its features."""
    rng, num_visual = np.random.default_rng(seed), len(features[0])
    before, length = num_words // 2, num_words + num_visual
    words = rng.integers(FIRST_WORD, vocabulary, (len(features), length))
    words[:, before : before + num_visual] = IMAGE_TOKEN
    positions = np.concatenate([mrope_positions(length, [(before, grid)])] * len(features), axis=1)
    places = np.arange(len(features))[:, None] * length + before + np.arange(num_visual)
    return PackedBatch(
        torch.from_numpy(words.reshape(-1)),
        torch.from_numpy(positions),
        [length] * len(features),
        VisualTokens(torch.from_numpy(places.reshape(-1)), torch.cat(features)),
    )
