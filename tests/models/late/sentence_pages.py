"""The files of sentence-transformers beside a model of pages, as its makers released them in August 2026.

ColSmol's template was seen; those of ColQwen2.5 and ColPali are made by what their prompts were said to be.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from transformers.image_transforms import convert_to_rgb

from tests.models.late.references import EngineReference, PageReference

ST = "sentence_transformers"
STATES = {"method": "forward", "method_output_name": "last_hidden_state"}
TEMPLATE = """{%- for message in messages -%}{%- for content in message['content'] -%}
{%- if content['type'] == 'image' -%}
    {{- 'PAGE' -}}
{%- elif task is defined and task == 'query' -%}
    {{- 'HEADQuery: ' + content['text'] -}}{%- for _ in range(10) -%}{{- 'END' -}}{%- endfor -%}{{- '\\n' -}}
{%- else -%}
    {{- content['text'] -}}
{%- endif -%}{%- endfor -%}{%- endfor -%}
"""
CHAT = "<|im_start|>user\\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|><|endoftext|>"
WORDS = {
    "linear": ("<|im_start|>User: Describe the image.<image><end_of_utterance>", "", "<end_of_utterance>"),
    "custom_text_proj": (CHAT, "", "<|endoftext|>"),
    "paligemma": ("<image>Describe the image.", "<bos>", "<pad>"),
}
"""A page, what stands before a query, and its end token; by the layer's name."""


def with_sentence_files(folder: Path, words: str = "") -> Path:
    """Put the files into a folder; the Dense is not the layer among the weights, which nobody reads then."""
    tensors = load_file(folder / "model.safetensors")
    layer = next(name for name in ("linear", "custom_text_proj") if f"{name}.weight" in tensors)
    page, head, end = WORDS[words or layer]
    kinds = [f"{ST}.base.modules.transformer.Transformer", f"{ST}.base.modules.dense.Dense"]
    kinds += [f"{ST}.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"]
    kinds += [f"{ST}.base.modules.normalize.Normalize"]
    paths = ["", *(f"{i}_{kind.rpartition('.')[2]}" for i, kind in enumerate(kinds) if i)]
    entries = [{"idx": i, "name": str(i), "path": paths[i], "type": kind} for i, kind in enumerate(kinds)]
    out, width = tensors[f"{layer}.weight"].shape
    tokens = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
    linear = {"in_features": width, "out_features": out, "bias": True}
    kinds_of_input = {"text": STATES, "image": STATES, "message": STATES | {"format": "structured"}}
    settings = {
        "transformer_task": "feature-extraction",
        "modality_config": kinds_of_input,
        "module_output_name": "token_embeddings",
        "processing_kwargs": {"chat_template": {"chat_template": ST}},
    }
    names = {"model_type": "MultiVectorEncoder", "prompts": {"document": "", "query": ""}}
    files = {
        "modules.json": entries,
        f"{paths[1]}/config.json": linear | tokens | {"activation_function": "torch.nn.modules.linear.Identity"},
        f"{paths[2]}/config.json": {},
        f"{paths[3]}/config.json": tokens,
        "sentence_bert_config.json": settings,
        "config_sentence_transformers.json": names | {"default_prompt_name": None, "similarity_fn_name": "maxsim"},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    generator = torch.Generator().manual_seed(20261128)
    dense = {f"linear.{end}": torch.randn(one.shape, generator=generator) * 0.1 for end, one in _of(tensors, layer)}
    save_file(dense, folder / paths[1] / "model.safetensors")
    further = folder / "additional_chat_templates"
    further.mkdir()
    text = TEMPLATE.replace("PAGE", page).replace("HEAD", head).replace("END", end)
    (further / f"{ST}.jinja").write_text(text)
    return folder


def _of(tensors: dict[str, torch.Tensor], layer: str) -> list[tuple[str, torch.Tensor]]:
    return [(end, tensors[f"{layer}.{end}"]) for end in ("weight", "bias")]


class SentenceReference(PageReference):
    """`MultiVectorEncoder`, an item at a time."""

    def __init__(self, folder: Path) -> None:
        self.model = MultiVectorEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})

    def queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.model.encode_query([one], convert_to_numpy=True)[0] for one in texts]

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        return [self.model.encode_document([one], convert_to_numpy=True)[0] for one in images]


class SentencesColQwen(EngineReference):
    """What `MultiVectorEncoder` does of ColQwen2.5, which it does not load without torchvision."""

    suffix = "<|endoftext|>" * 10 + "\n"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.projection.load_state_dict(
            {name.removeprefix("linear."): one for name, one in load_file(folder / "1_Dense/model.safetensors").items()}
        )

    def pages(self, images: Sequence[Image.Image]) -> list[np.ndarray]:
        return super().pages([convert_to_rgb(one, return_numpy=False) for one in images])
