"""Small random ColPali and ColSmol, in the forms of transformers and of colpali-engine.

Imports nothing of the service: `record_colpali_engine.py` makes the same ones where colpali-engine is installed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    ColPaliConfig,
    ColPaliForRetrieval,
    ColPaliProcessor,
    Idefics3Config,
    Idefics3ImageProcessorPil,
    Idefics3Model,
    Idefics3Processor,
    PaliGemmaConfig,
    PaliGemmaForConditionalGeneration,
    PaliGemmaProcessor,
    PreTrainedTokenizerFast,
    SiglipImageProcessorPil,
)

from tests.models.text.tokenizers import byte_fallback, byte_level
from tests.models.weights import drawn, save

SIDE, PATCH = 56, 14
"""Of a page of ColPali: sixteen visual tokens."""
TILE, LONGEST = 32, 128
"""So that a page of ColSmol has up to four tiles by four."""
DIMENSIONS = 128
SPECIALS = ["<pad>", "<eos>", "<bos>", "<unk>", "<image>"]
SMOL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<fake_token_around_image>", "<image>", "<end_of_utterance>"]
SMOL += ["<global-img>", *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7))]
VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
}
RELEASED = (
    ("language_model.", "model.language_model.model."),
    ("vision_tower.", "model.vision_tower.vision_model."),
    ("multi_modal_projector.", "model.multi_modal_projector."),
)
"""Today's names of PaliGemma's tensors, and what colpali-engine's releases call them."""


def paligemma() -> PaliGemmaConfig:
    text = {"model_type": "gemma", **TEXT, "head_dim": 8, "vocab_size": 2048, "pad_token_id": 0}
    vision = {"model_type": "siglip_vision_model", **VISION, "image_size": SIDE, "patch_size": PATCH}
    more = {"projection_dim": 32, "hidden_size": 32, "image_token_index": SPECIALS.index("<image>"), "pad_token_id": 0}
    return PaliGemmaConfig(text_config=text, vision_config=vision | {"vision_use_head": False}, **more)


def _pali_parts() -> tuple[SiglipImageProcessorPil, PreTrainedTokenizerFast]:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_fallback(SPECIALS, None, None), pad_token="<pad>", bos_token="<bos>", eos_token="<eos>"
    )
    images = SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE}, resample=3)
    images.image_seq_length = (SIDE // PATCH) ** 2
    return images, tokenizer


def hf_colpali(folder: Path, **config: object) -> Path:
    """ColPali as transformers 5 writes it."""
    ColPaliProcessor(*_pali_parts()).save_pretrained(folder)
    return save(ColPaliForRetrieval(ColPaliConfig(vlm_config=paligemma().to_dict())), folder, **config)


def older_names(folder: Path) -> Path:
    """The same as vidore's `-hf` releases have it, of transformers 4.47."""
    path = folder / "model.safetensors"
    tensors = {name.removeprefix("vlm."): one for name, one in load_file(path).items()}
    named = {released(name).replace("model.", "vlm.", 1): one for name, one in tensors.items() if "proj_" not in name}
    save_file(named | {name: one for name, one in tensors.items() if "proj_" in name}, path, {"format": "pt"})
    return folder


def colpali(folder: Path, **config: object) -> Path:
    """ColPali merged, or the base of an adapter: PaliGemma with its head, and `custom_text_proj`."""
    folder.mkdir(parents=True)
    processor = PaliGemmaProcessor(*_pali_parts())
    processor.image_processor.save_pretrained(folder)
    processor.tokenizer.save_pretrained(folder)
    model = PaliGemmaForConditionalGeneration(paligemma())
    tensors = {name.removeprefix("model."): one for name, one in model.state_dict().items() if "lm_head" not in name}
    named = {released(name): one for name, one in tensors.items()}
    named["model.language_model.lm_head.weight"] = model.lm_head.weight
    return _saved(named, "custom_text_proj", folder, model.config, "ColPali", **config)


def released(name: str) -> str:
    """A tensor's name in the releases."""
    return next(old + name.removeprefix(new) for new, old in RELEASED if name.startswith(new))


def colsmol(folder: Path, **config: object) -> Path:
    """ColSmol merged, or the base of an adapter: `Idefics3Model` and `linear`."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_level(SMOL, None, None), pad_token="<|im_end|>", bos_token="<|im_start|>"
    )
    images = Idefics3ImageProcessorPil(size={"longest_edge": LONGEST}, max_image_size={"longest_edge": TILE})
    Idefics3Processor(images, tokenizer, image_seq_len=4).save_pretrained(folder)
    text = {"model_type": "llama", **TEXT, "vocab_size": 512, "max_position_embeddings": 1024, "rope_theta": 1e5}
    vision = VISION | {"image_size": TILE, "patch_size": 8}
    made = Idefics3Config(text_config=text, vision_config=vision, scale_factor=2, image_token_id=SMOL.index("<image>"))
    named = {f"model.{name}": one for name, one in Idefics3Model(made).state_dict().items()}
    return _saved(named, "linear", folder, made, "ColIdefics3", **config)


def _saved(
    tensors: Mapping[str, torch.Tensor], layer: str, folder: Path, config: Any, architecture: str, **more: object
) -> Path:
    """Random weights of these shapes, and the projection of that name."""
    generator = torch.Generator().manual_seed(20261127)
    made = {name: drawn(one, generator) for name, one in sorted(tensors.items())}
    for name, shape in (("weight", (DIMENSIONS, TEXT["hidden_size"])), ("bias", (DIMENSIONS,))):
        made[f"{layer}.{name}"] = torch.randn(shape, generator=generator) * 0.08
    save_file(made, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"architectures": [architecture]} | more))
    return folder
