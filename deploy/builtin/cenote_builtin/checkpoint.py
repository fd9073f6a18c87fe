"""Writes checkpoint folders with the files and the layout of a released Qwen3-VL-Embedding or Qwen3-VL-Reranker."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer
from transformers import Qwen3VLForConditionalGeneration

from cenote_builtin.architecture import HIDDEN, MATRYOSHKA_DIMENSIONS, MAX_PIXELS
from cenote_builtin.scenes import instructions
from cenote_builtin.tokenizer import SPECIAL

CHAT_TEMPLATE: Final = (
    "{%- for message in messages %}{%- if loop.first and message.role != 'system' %}"
    "{{- '<|im_start|>system\\nRepresent the user\\'s input.<|im_end|>\\n' }}{%- endif %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}{%- if message.content is string %}{{- message.content }}"
    "{%- else %}{%- for c in message.content %}"
    "{%- if c.type == 'image' or 'image' in c or 'image_url' in c %}"
    "{{- '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- elif c.type == 'video' or 'video' in c %}{{- '<|vision_start|><|video_pad|><|vision_end|>' }}"
    "{%- elif 'text' in c %}{{- c.text }}{%- endif %}{%- endfor %}{%- endif %}{{- '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)

_PIXELS: Final[dict[str, Any]] = {
    "processor_class": "Qwen3VLProcessor",
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "do_convert_rgb": True,
    "patch_size": 16,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "resample": 3,
    "rescale_factor": 1 / 255,
    "image_mean": [0.5] * 3,
    "image_std": [0.5] * 3,
}
_IMAGES: Final = _PIXELS | {
    "image_processor_type": "Qwen2VLImageProcessorFast",
    "size": {"shortest_edge": 4096, "longest_edge": 1843200},
}
_VIDEOS: Final = _PIXELS | {
    "video_processor_type": "Qwen3VLVideoProcessor",
    "size": {"shortest_edge": 4096, "longest_edge": 25165824},
    "fps": 2,
    "min_frames": 4,
    "max_frames": 768,
}
_TOKENIZER: Final[dict[str, Any]] = {
    "tokenizer_class": "Qwen2Tokenizer",
    "add_prefix_space": False,
    "bos_token": None,
    "eos_token": "<|im_end|>",
    "pad_token": "<|endoftext|>",
    "unk_token": None,
    "additional_special_tokens": list(SPECIAL[1:]),
    "model_max_length": 32768,
    "clean_up_tokenization_spaces": False,
    "split_special_tokens": False,
}
_MODULES: Final = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
]
_POOLING: Final = {"embedding_dimension": HIDDEN, "pooling_mode": "lasttoken", "include_prompt": True}
_SENTENCE_TRANSFORMERS: Final[dict[str, Any]] = {
    "prompts": {"query": instructions.QUERY, "document": instructions.DEFAULT}
    | {aspect: text for aspect, text in instructions.CANONICAL.items() if aspect != "whole"},
    "default_prompt_name": None,
    "similarity_fn_name": "cosine",
}


def write_json(path: Path, value: object) -> None:
    """Write one JSON file, and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def _rewrite_config(path: Path, own: Mapping[str, Any]) -> None:
    """Put config.json into the layout of released checkpoints: rope_theta and rope_scaling instead of rope_parameters.

    `cenote.max_pixels` is ours: the service shrinks larger images to the largest size of the training.
    """
    config = json.loads(path.read_text())
    text = config["text_config"]
    rope = text.pop("rope_parameters")
    text["rope_theta"] = rope["rope_theta"]
    text["rope_scaling"] = {key: value for key, value in rope.items() if key != "rope_theta"}
    config["vision_config"].pop("rope_parameters", None)
    config.pop("transformers_version", None)
    write_json(path, config | own)


def write_files(
    out: Path, model: Qwen3VLForConditionalGeneration, tokenizer: Tokenizer, own: Mapping[str, Any]
) -> None:
    """Write what every model of the family has, float32 weights rounded to bfloat16. The model itself is left as it is.

    Args:
        own: further keys of config.json.
    """
    out.mkdir(parents=True, exist_ok=True)
    stored = Qwen3VLForConditionalGeneration(model.config).bfloat16()
    stored.load_state_dict(model.state_dict())
    stored.save_pretrained(out)
    (out / "model.safetensors").chmod(0o644)
    (out / "generation_config.json").unlink(missing_ok=True)
    _rewrite_config(out / "config.json", own)
    tokenizer.save(str(out / "tokenizer.json"))
    (out / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    write_json(out / "tokenizer_config.json", _TOKENIZER)
    write_json(out / "preprocessor_config.json", _IMAGES)
    write_json(out / "video_preprocessor_config.json", _VIDEOS)


def write_checkpoint(out: Path, model: Qwen3VLForConditionalGeneration, tokenizer: Tokenizer) -> None:
    """Write every file of an embedder."""
    own = {"matryoshka_dimensions": list(MATRYOSHKA_DIMENSIONS), "cenote": {"max_pixels": MAX_PIXELS}}
    write_files(out, model, tokenizer, own)
    write_json(out / "modules.json", _MODULES)
    write_json(out / "1_Pooling" / "config.json", _POOLING)
    write_json(out / "2_Normalize" / "config.json", {})
    write_json(out / "config_sentence_transformers.json", _SENTENCE_TRANSFORMERS)


def write_reranker(out: Path, model: Qwen3VLForConditionalGeneration, tokenizer: Tokenizer) -> None:
    """Write every file of a reranker. `cenote.family` says that it is one: embedders have files of the same names."""
    write_files(out, model, tokenizer, {"cenote": {"family": "qwen3_vl_reranker", "max_pixels": MAX_PIXELS}})
