"""A small random thinker of Qwen2.5-Omni in the files of the releases, and its vectors by transformers alone.

`Qwen2_5OmniProcessor` needs torchvision, so what it writes into a text is written here. Templates that are no release's
own are said so: those beside LCO's and e5-omni's folders were not seen.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import save_file
from transformers import (
    AutoTokenizer,
    Qwen2_5OmniThinkerConfig,
    Qwen2_5OmniThinkerForConditionalGeneration,
    WhisperFeatureExtractor,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from tests.models.omni.checkpoints import FORWARD, NORMALIZE, POOLING, TRANSFORMER
from tests.models.omni.reference import Frames, Part
from tests.models.text.tokenizers import byte_level
from tests.models.vlm.checkpoints import QWEN2_5_VISION

SPECIALS = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"),
    *("<|vision_bos|>", "<|vision_eos|>", "<|vision_pad|>", "<|IMAGE|>", "<|VIDEO|>"),
]
KEYS = {
    "audio_token_index": "<|AUDIO|>",
    "audio_start_token_id": "<|audio_bos|>",
    "audio_end_token_id": "<|audio_eos|>",
    "vision_start_token_id": "<|vision_bos|>",
    "vision_end_token_id": "<|vision_eos|>",
    "image_token_index": "<|IMAGE|>",
    "video_token_index": "<|VIDEO|>",
}
ROPE = {"mrope_section": [2, 3, 3], "rope_type": "default"}
TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32_768,
}
AUDIO: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "output_dim": 64,
}
PREPROCESSOR: dict[str, Any] = {
    "chunk_length": 300,
    "dither": 0.0,
    "feature_extractor_type": "WhisperFeatureExtractor",
    "feature_size": 128,
    "hop_length": 160,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_processor_type": "Qwen2VLImageProcessor",
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "max_pixels": 12_845_056,
    "merge_size": 2,
    "min_pixels": 3_136,
    "n_fft": 400,
    "n_samples": 4_800_000,
    "nb_max_frames": 30_000,
    "padding_side": "right",
    "padding_value": 0.0,
    "patch_size": 14,
    "processor_class": "Qwen2_5OmniProcessor",
    "return_attention_mask": True,
    "sampling_rate": 16_000,
    "temporal_patch_size": 2,
}
"""Of the release, whole."""
TEMPLATE = (
    "{% set audio_count = namespace(value=0) %}{% set image_count = namespace(value=0) %}"
    "{% set video_count = namespace(value=0) %}{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "{% endif %}<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}"
    "<|im_end|>\n{% else %}{% for content in message['content'] %}{% if content['type'] == 'image' or 'image' in "
    "content or 'image_url' in content %}{% set image_count.value = image_count.value + 1 %}{% if add_vision_id %}"
    "Picture {{ image_count.value }}: {% endif %}<|vision_bos|><|IMAGE|><|vision_eos|>{% elif content['type'] == "
    "'audio' or 'audio' in content or 'audio_url' in content %}{% set audio_count.value = audio_count.value + 1 %}"
    "{% if add_audio_id %}Audio {{ audio_count.value }}: {% endif %}<|audio_bos|><|AUDIO|><|audio_eos|>{% elif "
    "content['type'] == 'video' or 'video' in content %}{% set video_count.value = video_count.value + 1 %}"
    "{% if add_vision_id %}Video {{ video_count.value }}: {% endif %}<|vision_bos|><|VIDEO|><|vision_eos|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Of Qwen2.5-Omni, whole."""
IN_USERS_TURN = TEMPLATE.replace("{% for message in messages %}", "{% for message in messages[-1:] %}").replace(
    "<|im_start|>{{ message['role'] }}\n",
    "<|im_start|>{{ message['role'] }}\n{% if messages | length > 1 %}{{ messages[0]['content'][0]['text'] }}"
    "{% endif %}",
)
"""No release's: a prompt in front of the user's parts, as e5-omni's card has it, beside its `<|endoftext|>`."""
SYSTEM = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n"
DEFAULT = SYSTEM.format("You are a helpful assistant.")
ANSWER = "<|im_end|>\n<|im_start|>assistant\n"
TEMPORAL, FPS = 2, 2.0


def make_thinker(folder: Path, *, is_whole: bool = False, **text: Any) -> Path:
    """Write a language model's folder: the thinker alone, or with its talker's files around it."""
    folder.mkdir(parents=True)
    tokenizer = byte_level(SPECIALS, None, None)
    tokenizer.save(str(folder / "tokenizer.json"))
    own = TEXT | {"vocab_size": tokenizer.get_vocab_size()} | text
    ids = {key: tokenizer.token_to_id(token) for key, token in KEYS.items()}
    config = Qwen2_5OmniThinkerConfig(
        text_config=own | {"rope_parameters": ROPE | {"rope_theta": 1e6}},
        vision_config=QWEN2_5_VISION,
        audio_config=AUDIO,
        **ids,
    )
    torch.manual_seed(20261127)
    state = Qwen2_5OmniThinkerForConditionalGeneration(config).state_dict()
    generator = torch.Generator().manual_seed(27)
    tensors = {
        ("thinker." if is_whole else "") + _released(name): value + 0.1 * torch.randn(value.shape, generator=generator)
        for name, value in state.items()
    }
    said: dict[str, Any] = {
        **ids,
        "model_type": "qwen2_5_omni_thinker",
        "architectures": ["Qwen2_5OmniThinkerForConditionalGeneration"],
        "position_id_per_seconds": 25,
        "seconds_per_chunk": 2,
        "text_config": own | {"model_type": "qwen2_5_omni_text", "rope_scaling": ROPE | {"type": "default"}}
        | {"rope_theta": 1e6},
        "vision_config": QWEN2_5_VISION | {"model_type": "qwen2_5_omni_vision_encoder"},
        "audio_config": AUDIO | {"model_type": "qwen2_5_omni_audio_encoder", "num_mel_bins": 128},
    }  # fmt: skip
    if is_whole:
        said = {
            "model_type": "qwen2_5_omni",
            "architectures": ["Qwen2_5OmniForConditionalGeneration"],
            "enable_audio_output": True,
            "thinker_config": said,
        }
        tensors |= {"talker.codec_head.weight": torch.ones(2, 2), "token2wav.code2wav_dit_model.norm": torch.ones(2)}
    save_file({name: value.contiguous() for name, value in tensors.items()}, folder / "model.safetensors")
    write(folder, "config.json", said)
    write(folder, "preprocessor_config.json", PREPROCESSOR)
    write(folder, "chat_template.json", {"chat_template": TEMPLATE})
    return folder


def with_modules(folder: Path, template: dict[str, Any], prompts: dict[str, str], pooling: str = "lasttoken") -> Path:
    """Add the files of sentence-transformers."""
    modalities = dict.fromkeys(("text", "image", "audio", "video"), FORWARD)
    write(folder, "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": TRANSFORMER},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": POOLING},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": NORMALIZE},
    ])  # fmt: skip
    write(folder, "sentence_bert_config.json", {
        "transformer_task": "feature-extraction",
        "modality_config": modalities | {"message": FORWARD | {"format": "structured"}},
        "module_output_name": "token_embeddings",
        "processing_kwargs": {"chat_template": template},
    })  # fmt: skip
    write(folder, "config_sentence_transformers.json", {"prompts": prompts, "similarity_fn_name": "cosine"})
    write(folder, "1_Pooling/config.json", {"embedding_dimension": 64, "pooling_mode": pooling})
    write(folder, "2_Normalize/config.json", {})
    return folder


def write(folder: Path, name: str, content: Any) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content, indent=2))


def _released(name: str) -> str:
    """Names of older transformers, in which the models were released."""
    for ours, theirs in (("model.language_model.", "model."), ("model.audio", "audio"), ("model.visual", "visual")):
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name


class ThinkerReference:
    """Reference vectors of a checkpoint, each item alone."""

    def __init__(self, folder: Path, *, pools_mean: bool = False) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.image: Any = Qwen2VLImageProcessorPil.from_pretrained(folder)
        self.extractor: Any = WhisperFeatureExtractor.from_pretrained(folder)
        said = json.loads((folder / "config.json").read_text())
        config = Qwen2_5OmniThinkerConfig.from_dict(said.get("thinker_config", said))
        self.model: Any = Qwen2_5OmniThinkerForConditionalGeneration.from_pretrained(folder, config=config).eval()
        self.pools_mean = pools_mean

    def __call__(self, *items: Sequence[Part], head: str = DEFAULT, tail: str = ANSWER) -> NDArray[np.float32]:
        """Unit vectors, `[items, 64]`, of `head`, parts and `tail`."""
        with torch.inference_mode():
            states = [self._states(parts, head, tail) for parts in items]
        pooled = torch.stack([one.mean(0) if self.pools_mean else one[-1] for one in states])
        unit: NDArray[np.float32] = torch.nn.functional.normalize(pooled, dim=-1).numpy()
        return unit

    def _states(self, parts: Sequence[Part], head: str, tail: str) -> torch.Tensor:
        text, images, films, audios = head, list[Any](), list[Any](), list[Any]()
        for part in parts:
            if isinstance(part, str):
                text += part
            elif isinstance(part, Image.Image):
                images.append(self.image(part, return_tensors="pt"))
                text += _block("vision", "IMAGE", images[-1]["image_grid_thw"].prod() // 4)
            elif isinstance(part, Frames):
                films.append(self._film(part.images))
                text += _block("vision", "VIDEO", films[-1][1].prod() // 4)
            else:
                audios.append(part)
                frames = -(-min(len(part), self.extractor.n_samples) // self.extractor.hop_length)
                text += _block("audio", "AUDIO", ((frames - 1) // 2 + 1 - 2) // 2 + 1)
        inputs = dict(self.tokenizer([text + tail], return_tensors="pt"))
        inputs.pop("token_type_ids", None)
        if images:
            inputs["pixel_values"] = torch.cat([one["pixel_values"] for one in images])
            inputs["image_grid_thw"] = torch.cat([one["image_grid_thw"] for one in images])
        if films:
            inputs["pixel_values_videos"] = torch.cat([one[0] for one in films])
            inputs["video_grid_thw"] = torch.cat([one[1] for one in films])
            inputs["video_second_per_grid"] = torch.tensor([TEMPORAL / FPS] * len(films))
        if audios:
            heard = self.extractor(audios, sampling_rate=16_000, return_attention_mask=True, return_tensors="pt")
            inputs |= {"input_features": heard["input_features"], "feature_attention_mask": heard["attention_mask"]}
        states: torch.Tensor = self.model(**inputs, output_hidden_states=True).hidden_states[-1][0]
        return states

    def _film(self, images: Sequence[Image.Image]) -> tuple[torch.Tensor, torch.Tensor]:
        """Patches of two frames each: of a still image's, which have it twice, one half of each frame's."""
        stills = [self.image(one, do_resize=False, return_tensors="pt") for one in images]
        cut = [one["pixel_values"].view(-1, 3, TEMPORAL, 196) for one in stills]
        pairs = [torch.stack([one[:, :, 0], two[:, :, 1]], 2) for one, two in zip(cut[::2], cut[1::2], strict=True)]
        grid = stills[0]["image_grid_thw"].clone()
        grid[0, 0] = len(pairs)
        return torch.cat(pairs).flatten(1), grid


def _block(border: str, token: str, num: Any) -> str:
    return f"<|{border}_bos|>{f'<|{token}|>' * int(num)}<|{border}_eos|>"
