"""The checkpoints' own chat templates, rendered by Jinja from parts as they are written: nothing of the service."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from transformers import PreTrainedTokenizerFast

Part = str | Image.Image
QWEN2_VL = (
    "{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "{% endif %}<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}"
    "<|im_end|>\n{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'image' or 'image' in content or 'image_url' in content %}"
    "{% set image_count.value = image_count.value + 1 %}{% if add_vision_id %}"
    "Picture {{ image_count.value }}: {% endif %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% elif content['type'] == 'video' or 'video' in content %}"
    "{% set video_count.value = video_count.value + 1 %}{% if add_vision_id %}"
    "Video {{ video_count.value }}: {% endif %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% elif 'text' in content %}{{ content['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Of Qwen2-VL-Instruct as it was released, which GME and Ops-MM ship."""


def rendered(folder: Path, template: str, turns: Sequence[tuple[str, Sequence[Part]]]) -> str:
    """Render turns by `apply_chat_template`, each with its role, `<|image_pad|>` once for each image."""
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    messages = [
        {
            "role": role,
            "content": [
                {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in parts
            ],
        }
        for role, parts in turns
    ]
    text = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, add_generation_prompt=True)
    assert isinstance(text, str)
    return text


def images_of(turns: Sequence[tuple[str, Sequence[Part]]]) -> list[Image.Image]:
    """The images of all turns, in order."""
    return [part for _, parts in turns for part in parts if isinstance(part, Image.Image)]
