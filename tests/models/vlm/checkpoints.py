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
    Qwen3_5Config,
    Qwen3_5ForConditionalGeneration,
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
QWEN3_5_TEXT: dict[str, Any] = {
    **TEXT,
    "num_hidden_layers": 4,
    "head_dim": 16,
    "layer_types": ["linear_attention", "full_attention"] * 2,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 10_000.0,
        "partial_rotary_factor": 0.5,
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
    },
}
QWEN3_5_VISION: dict[str, Any] = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "out_hidden_size": 64,
    "num_position_embeddings": 64,
}
QWEN3_5_IMAGES: dict[str, Any] = {
    "size": {"shortest_edge": 2048, "longest_edge": 60 * 1024},
    "patch_size": 16,
    "merge_size": 2,
    "temporal_patch_size": 2,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "image_processor_type": "Qwen2VLImageProcessorFast",
}
"""Of processor_config.json; limits that are not the default, and the first of which qwen-vl-utils' overtakes."""
EMBEDDING = "<embedding>"
WEMM_TEMPLATE = """{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' -}}
{%- for part in message.content -%}
{%- if part.type == 'image' -%}{{- '<|vision_start|><|image_pad|><|vision_end|>' -}}
{%- elif part.type == 'video' -%}{{- '<|video_pad|>' -}}
{%- else -%}{{- part.text -}}{%- endif -%}
{%- endfor -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if not add_generation_prompt -%}{{- '<embedding>' -}}{%- endif -%}
"""
"""Writes what WeMM-Embedding's was seen to write; its own words were not seen."""
WEMM_CODE = {
    "AutoModel": "modeling_wemm_embedding.WeMMEmbedding",
    "AutoModelForCausalLM": "modeling_wemm_embedding.WeMMEmbedding",
}
NO_LAST_LINE = [
    {"type": "NFC"},
    {"type": "Replace", "pattern": {"Regex": "\\n\\z"}, "content": ""},
]
"""Normalizers of WeMM-Embedding's tokenizer: a line end right before a special token is none."""


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


def wemm(folder: Path, **config: object) -> Path:
    """WeMM-Embedding in the layout of its release: Qwen3.5 with its head, code of its own that is not there."""
    ids = tokenizer(folder, EMBEDDING)
    path = folder / "tokenizer.json"
    normalizer = {"type": "Sequence", "normalizers": NO_LAST_LINE}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": normalizer}))
    made = Qwen3_5Config(text_config=QWEN3_5_TEXT, vision_config=QWEN3_5_VISION, **ids)
    own = {"auto_map": WEMM_CODE, "matryoshka_dimensions": [16, 32, 64]}
    save(Qwen3_5ForConditionalGeneration(made), folder, **own | config)
    written: dict[str, Any] = {
        "processor_config.json": {"processor_class": "Qwen3VLProcessor", "image_processor": QWEN3_5_IMAGES},
        "tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<|endoftext|>"},
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": "modeling_st_wemm.WeMMTransformer"}],
        "config_sentence_transformers.json": {"model_type": "SentenceTransformer", "prompts": {}},
        "sentence_bert_config.json": {
            "processing_kwargs": {"chat_template": {"chat_template": "sentence_transformers"}},
        },
    }
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content))
    (folder / "additional_chat_templates").mkdir()
    for name in ("chat_template", "embedding_chat_template", "additional_chat_templates/sentence_transformers"):
        (folder / f"{name}.jinja").write_text(WEMM_TEMPLATE)
    return folder


def tokenizer(folder: Path, *further: str) -> dict[str, Any]:
    """A byte-level tokenizer that adds nothing by itself, and the ids that a configuration repeats."""
    folder.mkdir(parents=True)
    made: Tokenizer = byte_level([*SPECIALS, *further], None, None)
    made.save(str(folder / "tokenizer.json"))
    assert all(made.token_to_id(SPECIALS[number]) == number for number in IDS.values())
    return IDS
