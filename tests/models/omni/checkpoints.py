"""A small random EmbeddingGemma 2 in the files of the release: transformers' and sentence-transformers'.

Its weights are drawn, the bounds of clipped layers and the scalars of layers too.
"""

import json
from pathlib import Path
from typing import Any

import torch
from transformers import (
    EmbeddingGemma2Config,
    EmbeddingGemma2Model,
    Gemma4AudioFeatureExtractor,
    PreTrainedTokenizerFast,
)

from tests.models.text.tokenizers import byte_fallback

TOKENS = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
MEDIA = {
    "image_token": "<|image|>",
    "video_token": "<|video|>",
    "boi_token": "<|image>",
    "eoi_token": "<image|>",
    "audio_token": "<|audio|>",
    "boa_token": "<|audio>",
    "eoa_token": "<audio|>",
}
KEYS = {"boa_token": "boa_token_id", "eoa_token": "eoa_token_index"}
TEXT: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "global_head_dim": 32,
    "num_global_key_value_heads": 1,
    "sliding_window": 20,
    "sliding_window_pattern": 2,
    "hidden_size_per_layer_input": 24,
    "embedding_dim": 160,
}
VISION: dict[str, Any] = {
    "model_type": "gemma4_vision",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 8,
    "position_embedding_size": 1024,
}
AUDIO: dict[str, Any] = {
    "model_type": "gemma4_audio",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "subsampling_conv_channels": [128, 8],
    "output_proj_dims": 40,
}
VISUAL: dict[str, Any] = {
    "do_convert_rgb": True,
    "do_normalize": False,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.0, 0.0, 0.0],
    "image_std": [1.0, 1.0, 1.0],
    "patch_size": 16,
    "pooling_kernel_size": 3,
    "resample": 3,
    "rescale_factor": 1 / 255,
}
PROCESSOR: dict[str, Any] = {
    "audio_ms_per_token": 40,
    "audio_seq_length": 280,
    "image_processor": {
        **VISUAL,
        "image_processor_type": "Gemma4ImageProcessor",
        "image_seq_length": 280,
        "max_soft_tokens": 70,
    },
    "image_seq_length": 280,
    "processor_class": "EmbeddingGemma2Processor",
    "video_processor": {
        **VISUAL,
        "add_timestamps": False,
        "do_sample_frames": True,
        "fps": 1,
        "max_frames": 32,
        "max_soft_tokens": 70,
        "overflow_strategy": "uniform",
        "video_processor_type": "EmbeddingGemma2VideoProcessor",
    },
}
TEMPLATE = (
    "{%- for msg in messages if msg.get('role') == 'system' -%}"
    "{%- if msg.get('content') is string -%}"
    "{{ msg['content'] }}"
    "{%- else -%}"
    "{%- for item in msg['content'] if item.get('type') == 'text' -%}"
    "{{ item['text'] }}"
    "{%- endfor -%}"
    "{%- endif -%}"
    "{%- endfor -%}"
    "{%- for msg in messages if msg.get('role') != 'system' -%}"
    "{%- if msg.get('content') is string -%}"
    "{{ msg['content'] }}"
    "{%- else -%}"
    "{%- set existing_text = msg['content'] | selectattr('type', 'equalto', 'text') | map(attribute='text') | join -%}"
    "{%- set has_manual_placeholders = ('<|image|>' in existing_text) or ('<|video|>' in existing_text)"
    " or ('<|audio|>' in existing_text) -%}"
    "{%- for item in msg['content'] -%}"
    "{%- if item.get('type') == 'text' -%}"
    "{{ item['text'] }}"
    "{%- elif not has_manual_placeholders and item.get('type') == 'image' -%}"
    "<|image|>"
    "{%- elif not has_manual_placeholders and item.get('type') == 'video' -%}"
    "<|video|>"
    "{%- elif not has_manual_placeholders and item.get('type') == 'audio' -%}"
    "<|audio|>"
    "{%- endif -%}"
    "{%- endfor -%}"
    "{%- endif -%}"
    "{%- endfor -%}"
)
"""Of transformers' conversion script."""
QUERY, DOCUMENT = "task: search result | query: ", "title: none | text: "
PROMPTS = {
    "query": QUERY,
    "document": DOCUMENT,
    "Clustering": "task: clustering | query: ",
    "Classification": "task: classification | query: ",
    "SearchQuery": QUERY,
}
FORWARD = {"method": "forward", "method_output_name": "last_hidden_state"}
TRANSFORMER = "sentence_transformers.base.modules.transformer.Transformer"
POOLING = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
NORMALIZE = "sentence_transformers.base.modules.normalize.Normalize"


def make_checkpoint(folder: Path, **config: Any) -> Path:
    """Write it; `config` is laid over the towers and sizes of its configuration."""
    tokenizer = byte_fallback([*TOKENS, *MEDIA.values()], "<bos>", "<eos>")
    own = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        bos_token="<bos>",
        unk_token="<unk>",
        extra_special_tokens=MEDIA,
    )
    ids = {KEYS.get(name, f"{name}_id"): tokenizer.token_to_id(token) for name, token in MEDIA.items()}
    text = TEXT | {"vocab_size": tokenizer.get_vocab_size()} | config.pop("text_config", {})
    model = EmbeddingGemma2Model(
        EmbeddingGemma2Config(text_config=text, **({"vision_config": VISION, "audio_config": AUDIO} | ids | config))
    )
    randomize(model)
    model.save_pretrained(folder)
    own.save_pretrained(folder)
    extractor = Gemma4AudioFeatureExtractor()
    extractor.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    modalities = dict.fromkeys(("text", "image", "audio", "video"), FORWARD)
    files: dict[str, Any] = {
        "processor_config.json": PROCESSOR | {"feature_extractor": json.loads(extractor.to_json_string())},
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": TRANSFORMER},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": POOLING},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": NORMALIZE},
        ],
        "sentence_bert_config.json": {
            "transformer_task": "feature-extraction",
            "modality_config": modalities | {"message": FORWARD | {"format": "structured"}},
            "module_output_name": "token_embeddings",
        },
        "config_sentence_transformers.json": {
            "prompts": PROMPTS,
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
            "model_type": "SentenceTransformer",
        },
        "1_Pooling/config.json": {
            "embedding_dimension": text["embedding_dim"],
            "pooling_mode": "mean",
            "include_prompt": True,
        },
        "2_Normalize/config.json": {},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content, indent=2))
    return folder


def randomize(model: torch.nn.Module) -> None:
    generator = torch.Generator().manual_seed(20261127)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * (0.3 if "table" in name else 0.1))
        for name, buffer in model.named_buffers():
            if name.endswith("layer_scalar"):
                buffer.uniform_(0.6, 1.3, generator=generator)
            elif name.endswith(("_min", "_max")):
                buffer.fill_(2.5).mul_(-1 if name.endswith("_min") else 1.2)
