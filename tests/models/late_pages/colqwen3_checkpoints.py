"""Small random ColQwen3 in the forms of its three makers: the same weights by other names, with other files."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen2VLImageProcessorPil, Qwen3VLConfig, Qwen3VLModel

from tests.models.late_pages.engine_checkpoints import saved
from tests.models.vlm.checkpoints import TEXT, tokenizer

PIXELS_OF_TOKEN = 32 * 32
MAX_PAGE_TOKENS = 80
DIMENSIONS = 320
"""Of colpali-engine's class."""
VISION: dict[str, Any] = {
    "depth": 3,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "out_hidden_size": 64,
    "num_position_embeddings": 64,
    "deepstack_visual_indexes": [0, 1],
}
ROPE = {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True, "rope_theta": 10_000.0}


def colqwen3(folder: Path, **config: object) -> Path:
    """colpali-engine's form: `Qwen3VLModel` and `custom_text_proj` in one file."""
    ids = tokenizer(folder)
    processor(folder, MAX_PAGE_TOKENS)
    text = {**TEXT, "head_dim": 16, "rope_parameters": ROPE}
    model = Qwen3VLModel(Qwen3VLConfig(text_config=text, vision_config=VISION, **ids))
    return saved(model, folder, DIMENSIONS, "ColQwen3", **config)


def processor(folder: Path, max_tokens: int) -> None:
    """preprocessor_config.json as Qwen3-VL has it."""
    size = {"shortest_edge": 4 * PIXELS_OF_TOKEN, "longest_edge": max_tokens * PIXELS_OF_TOKEN}
    halves = [0.5, 0.5, 0.5]
    Qwen2VLImageProcessorPil(size=size, patch_size=16, image_mean=halves, image_std=halves).save_pretrained(folder)


def tomoro(folder: Path, **config: object) -> Path:
    """TomoroAI's form of the same weights: all below `vlm.`, a head that nothing reads, a processor of its own."""
    colqwen3(folder, model_type="colqwen3", architectures=["ColQwen3"], embed_dim=DIMENSIONS, **config)
    tensors = load_file(folder / "model.safetensors")
    renamed = {f"vlm.model.{name}": one for name, one in tensors.items() if not name.startswith("custom")}
    renamed |= {f"embedding_proj_layer.{end}": tensors[f"custom_text_proj.{end}"] for end in ("weight", "bias")}
    renamed["vlm.lm_head.weight"] = torch.ones(512, 64)
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    page = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image."
    said = {"visual_prompt_prefix": page, "visual_prompt_suffix": "<|im_end|><|endoftext|>", "query_prefix": ""}
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "ColQwen3Processor", **said}))
    return folder


def ops(folder: Path, dims: int, **config: object) -> Path:
    """OpenSearch-AI's form of the same weights: `dims` says how many numbers of a vector are taken."""
    return colqwen3(folder, model_type="ops_colqwen3", architectures=["OpsColQwen3Model"], dims=dims, **config)
