"""The sizes of the built-in model: Qwen3-VL's architecture at about 2.4 M parameters.

All widths differ on purpose, so that tests notice when two are confused: heads x head size is not the hidden size, keys
have fewer heads, the tower is narrow.
"""

from collections.abc import Mapping
from typing import Any, Final

from transformers import Qwen3VLConfig

HIDDEN: Final = 256
"""Width of the text model, and so the largest output dimension."""
MATRYOSHKA_DIMENSIONS: Final = (32, 64, 128, 256)
"""Lengths at which the loss is taken."""
MAX_PIXELS: Final = 128 * 128
"""The largest image of the training; the checkpoint names it, and the service shrinks larger images to it."""
PATCH_PIXELS: Final = 16
MERGE: Final = 2
"""Patches per side of one visual token."""

RERANKER_LAYERS: Final = 4
"""The reranker has one layer more than the embedder: it compares what the embedder only has to describe."""

_TEXT: Final[dict[str, Any]] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 320,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 5e6,
        "mrope_section": [6, 5, 5],
        "mrope_interleaved": True,
    },
}
_VISION: Final[dict[str, Any]] = {
    "depth": 4,
    "hidden_size": 80,
    "intermediate_size": 240,
    "num_heads": 4,
    "out_hidden_size": HIDDEN,
    "patch_size": PATCH_PIXELS,
    "spatial_merge_size": MERGE,
    "temporal_patch_size": 2,
    "num_position_embeddings": 144,
    "deepstack_visual_indexes": [0, 2],
}
NUM_LEVELS: Final = 1 + len(_VISION["deepstack_visual_indexes"])
"""Outputs of the vision tower: the main one and those of deepstack."""


def build_config(
    vocab_size: int, special_ids: Mapping[str, int], num_layers: int = _TEXT["num_hidden_layers"]
) -> Qwen3VLConfig:
    """The configuration for a vocabulary; `special_ids` has the tokenizer's special tokens by their text."""
    text = _TEXT | {
        "num_hidden_layers": num_layers,
        "vocab_size": vocab_size,
        "bos_token_id": special_ids["<|endoftext|>"],
        "eos_token_id": special_ids["<|im_end|>"],
    }
    return Qwen3VLConfig(
        text_config=text,
        vision_config=_VISION,
        image_token_id=special_ids["<|image_pad|>"],
        video_token_id=special_ids["<|video_pad|>"],
        vision_start_token_id=special_ids["<|vision_start|>"],
        vision_end_token_id=special_ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
