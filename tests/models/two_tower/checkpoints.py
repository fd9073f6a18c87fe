"""Small random checkpoints of every two-tower family, saved as transformers saves them.

The weights are random, norms and biases included, so that no path of a forward can hide behind a zero or a one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModel,
    ChineseCLIPConfig,
    ChineseCLIPImageProcessorPil,
    CLIPConfig,
    CLIPImageProcessorPil,
    MetaClip2Config,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    Siglip2Config,
    Siglip2ImageProcessorPil,
    SiglipConfig,
    SiglipImageProcessorPil,
)

from tests.models.two_tower import tokenizers

LAYERS: dict[str, Any] = {"num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
TEXT: dict[str, Any] = LAYERS | {"hidden_size": 32}
VISION: dict[str, Any] = LAYERS | {"hidden_size": 48, "patch_size": 8}
SMALL_CROP: dict[str, Any] = {"size": {"shortest_edge": 40}, "crop_size": {"height": 32, "width": 32}}


@dataclass(frozen=True)
class Recipe:
    """Recipe of one checkpoint.

    Attributes:
        config: class of its configuration.
        tokenizer: makes its tokenizer.
        processor: class of its image processor.
        images: what the image processor is made with.
        text: what its text tower's configuration has beside the sizes.
        vision: likewise.
        others: of the configuration itself.
        padding: how the reference pads texts.
        spread: standard deviation of its weights: large enough that different texts have different vectors.
    """

    config: type[PreTrainedConfig]
    tokenizer: Callable[[], PreTrainedTokenizerBase]
    processor: type[Any]
    images: dict[str, Any]
    text: dict[str, Any]
    vision: dict[str, Any] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    padding: str | bool = True
    spread: float = 0.25


SQUARE = {"image_size": 32}
PROJECTED = {"projection_dim": 24}
RECIPES: dict[str, Recipe] = {
    "clip": Recipe(
        CLIPConfig,
        tokenizers.clip,
        CLIPImageProcessorPil,
        SMALL_CROP,
        {"max_position_embeddings": 77},
        SQUARE,
        PROJECTED,
    ),
    "clip-of-old": Recipe(
        CLIPConfig,
        tokenizers.clip,
        CLIPImageProcessorPil,
        {"size": 32, "crop_size": 32, "resample": 2},
        {"max_position_embeddings": 77, "eos_token_id": 2},
        SQUARE,
        PROJECTED,
    ),
    "metaclip-2": Recipe(
        MetaClip2Config,
        tokenizers.xlm,
        CLIPImageProcessorPil,
        {"size": {"shortest_edge": 24}, "crop_size": {"height": 32, "width": 32}},  # smaller than what is taken of it
        {"max_position_embeddings": 77},
        SQUARE,
        PROJECTED,
    ),
    "chinese-clip": Recipe(
        ChineseCLIPConfig,
        tokenizers.wordpiece,
        ChineseCLIPImageProcessorPil,
        {"size": {"height": 32, "width": 32}, "do_center_crop": False},
        {"max_position_embeddings": 64, "hidden_dropout_prob": 0.0},
        SQUARE,
        PROJECTED,
        spread=0.5,  # a norm after each layer shrinks what tells texts apart
    ),
    "siglip": Recipe(
        SiglipConfig,
        tokenizers.t5,
        SiglipImageProcessorPil,
        {"size": {"height": 32, "width": 32}},
        {"max_position_embeddings": 64, "projection_size": 48},
        SQUARE,
        padding="max_length",
    ),
    "siglip2": Recipe(
        SiglipConfig,
        tokenizers.gemma,
        SiglipImageProcessorPil,
        {"size": {"height": 32, "width": 32}, "resample": 2},
        {"max_position_embeddings": 64, "projection_size": 48},
        SQUARE,
        padding="max_length",
    ),
    "siglip2-naflex": Recipe(
        Siglip2Config,
        tokenizers.gemma,
        Siglip2ImageProcessorPil,
        {"patch_size": 8, "max_num_patches": 30, "do_convert_rgb": True},  # as all of its siblings do by default
        {"max_position_embeddings": 64, "projection_size": 48},
        {"num_patches": 16},
        padding="max_length",
    ),
}


def make_checkpoint(name: str, folder: Path) -> Path:
    """Save the checkpoint of a recipe."""
    recipe = RECIPES[name]
    tokenizer = recipe.tokenizer()
    ends = {"eos_token_id": tokenizer.eos_token_id} if tokenizer.eos_token_id is not None else {}
    text = TEXT | {"vocab_size": len(tokenizer)} | ends | recipe.text
    config = recipe.config(text_config=text, vision_config=VISION | recipe.vision, **recipe.others)
    torch.manual_seed(20261121)
    model = AutoModel.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, recipe.spread)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    recipe.processor(**recipe.images).save_pretrained(folder)
    return folder
