"""Small random checkpoints of vision-language models, in the form in which the large ones are released."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
)

from tests.models.text.tokenizers import byte_level
from tests.models.weights import save

SPECIALS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
TEXT: dict[str, Any] = {
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10_000.0},
}
IDS = {"image_token_id": 5, "video_token_id": 6, "vision_start_token_id": 3, "vision_end_token_id": 4}
QWEN2_VISION = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 2}
QWEN2_5_VISION = {
    "depth": 3,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "out_hidden_size": 64,
    "fullatt_block_indexes": [1],
    "window_size": 56,
}
"""Windows of 2 x 2 visual tokens in two of three blocks."""


def qwen2_vl(folder: Path, **config: object) -> Path:
    """A Qwen2-VL, with its decoder's fields at the top of config.json, as the released ones have them."""
    ids = tokenizer(folder)
    save(Qwen2VLForConditionalGeneration(Qwen2VLConfig(text_config=TEXT, vision_config=QWEN2_VISION, **ids)), folder)
    path = folder / "config.json"
    written = json.loads(path.read_text())
    written |= written.pop("text_config") | {"model_type": written["model_type"]}
    written["rope_scaling"] = {"type": "mrope", "mrope_section": TEXT["rope_parameters"]["mrope_section"]}
    written["rope_theta"] = written.pop("rope_parameters")["rope_theta"]
    path.write_text(json.dumps(written | config))
    return folder


def qwen2_5_vl(folder: Path, **config: object) -> Path:
    """A Qwen2.5-VL, with window attention in its tower."""
    made = Qwen2_5_VLConfig(text_config=TEXT, vision_config=QWEN2_5_VISION, **tokenizer(folder))
    return save(Qwen2_5_VLForConditionalGeneration(made), folder, **config)


def tokenizer(folder: Path) -> dict[str, Any]:
    """A byte-level tokenizer that adds nothing by itself, and the ids that a configuration repeats."""
    folder.mkdir(parents=True)
    made: Tokenizer = byte_level(SPECIALS, None, None)
    made.save(str(folder / "tokenizer.json"))
    assert all(made.token_to_id(SPECIALS[number]) == number for number in IDS.values())
    return IDS
