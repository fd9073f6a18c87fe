"""The folder's own chat template is the reference's prompt of Qwen3-VL-Embedding: another is refused by its file."""

import json
import shutil
from pathlib import Path

import pytest

from service.checkpoint.json_files import CheckpointError
from service.prompt.detect import load_profile
from tests.conftest import CHECKPOINT
from tests.models.part_order.templates import QWEN2_VL

RELEASED = (CHECKPOINT / "chat_template.jinja").read_text()
JOINS_BY_LINES = RELEASED.replace("{{- c.text }}", "{{- c.text + '\n' }}")
NUMBERS_IMAGES = RELEASED.replace("'<|vision_start|><|image_pad|>", "'Picture: <|vision_start|><|image_pad|>")
ENDS_ITSELF = RELEASED + "<|endoftext|>"
PUTS_IMAGES_FIRST = RELEASED.replace("in message.content %}", "in message.content|sort(attribute='type') %}")
SAME_IN_OTHER_WORDS = RELEASED.replace("c.type == 'image' or ", "").replace("'image' in c", "'image' == c.type")
QWEN3_VL = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' }}
    {%- for content in messages[0].content %}
        {%- if 'text' in content %}
            {{- content.text }}
        {%- endif %}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- set image_count = namespace(value=0) %}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- for content in message.content %}
            {%- if content.type == 'image' or 'image' in content or 'image_url' in content %}
                {%- set image_count.value = image_count.value + 1 %}
                {%- if add_vision_id %}Picture {{ image_count.value }}: {% endif -%}
                <|vision_start|><|image_pad|><|vision_end|>
            {%- elif 'text' in content %}
                {{- content.text }}
            {%- endif %}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
"""In the way of the base models' own."""
SAME = (RELEASED, SAME_IN_OTHER_WORDS, QWEN2_VL, QWEN3_VL)
OTHERS = (JOINS_BY_LINES, NUMBERS_IMAGES, ENDS_ITSELF, PUTS_IMAGES_FIRST, "{{ raise_exception('no') }}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "checkpoint"
    shutil.copytree(CHECKPOINT, copy)
    (copy / "chat_template.jinja").unlink()
    return copy


def write(folder: Path, place: str, text: str) -> None:
    if place == "tokenizer_config.json":
        config = json.loads((folder / place).read_text()) | {"chat_template": text}
        (folder / place).write_text(json.dumps(config))
    else:
        (folder / place).write_text(text if place.endswith(".jinja") else json.dumps({"chat_template": text}))


@pytest.mark.parametrize("place", ["chat_template.jinja", "chat_template.json", "tokenizer_config.json"])
def test_another_template_is_refused_by_its_file(folder: Path, place: str) -> None:
    assert len({*SAME, *OTHERS}) == len(SAME) + len(OTHERS)
    for text in SAME:
        write(folder, place, text)
        assert load_profile(folder).name == "qwen3-vl-embedding"
    for text in OTHERS:
        write(folder, place, text)
        with pytest.raises(CheckpointError, match=place):
            load_profile(folder)


def test_a_folder_without_a_template_has_the_familys(folder: Path) -> None:
    assert load_profile(folder).name == "qwen3-vl-embedding"
