"""Small random folders of Mistral 3 with the files that NVIDIA's trainer writes, and their reference by transformers.

`PixtralProcessor` needs torchvision, so what it writes into a text is written here.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import normalizers
from transformers import (
    AutoTokenizer,
    Mistral3Config,
    Mistral3Model,
    PreTrainedTokenizerFast,
)
from transformers.models.pixtral.image_processing_pil_pixtral import PixtralImageProcessorPil

from tests.models.folders.edits import put, read, write
from tests.models.text.decoders import YARN
from tests.models.text.tokenizers import byte_level
from tests.models.weights import save

SPECIALS = ["<pad>", "<unk>", "<s>", "</s>", "[IMG]", "[IMG_BREAK]", "[IMG_END]"]
TEXT: dict[str, Any] = {
    "model_type": "ministral3",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 512,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "is_causal": False,
    "pooling": "avg",
    "rope_parameters": YARN,
}
MISTRAL: dict[str, Any] = {
    **{key: value for key, value in TEXT.items() if key != "rope_parameters"},
    "model_type": "mistral",
    "sliding_window": None,
}
VISION: dict[str, Any] = {
    "model_type": "pixtral",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "patch_size": 14,
    "image_size": 196,
}
PROCESSOR: dict[str, Any] = {
    "image_processor": {
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_pad": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_processor_type": "PixtralImageProcessor",
        "image_std": [0.26862954, 0.26130258, 0.27577711],
        "patch_size": 14,
        "resample": 3,
        "rescale_factor": 1 / 255,
        "size": {"longest_edge": 196},
    },
    "image_token": "[IMG]",
    "image_break_token": "[IMG_BREAK]",
    "image_end_token": "[IMG_END]",
    "patch_size": 14,
    "processor_class": "PixtralProcessor",
    "spatial_merge_size": 2,
}
TEMPLATE = r"""
{%- macro own(text) -%}{{- text | replace('[', '[\u200c') | replace('<', '<\u200c') -}}{%- endmacro -%}
{%- if messages[0]['role'] == 'query' -%}
{%- set sides = namespace(text='query: ' ~ own(messages[0]['content'][0]['text']) ~ '\n\npassage: ', images=0) -%}
{%- for part in messages[1]['content'] -%}
{%- if part['type'] == 'text' -%}{%- set sides.text = sides.text ~ own(part['text']) -%}
{%- else -%}{%- set sides.images = sides.images + 1 -%}{%- endif -%}
{%- endfor -%}
{{- ('[IMG] ' ~ sides.text) | trim if sides.images else sides.text -}}
{%- else -%}
{%- set item = namespace(text='', blank='') -%}
{%- for part in messages[-1]['content'] if part['type'] == 'image' -%}
{%- set item.text = item.text ~ item.blank ~ '[IMG]' -%}{%- set item.blank = ' ' -%}
{%- endfor -%}
{%- for part in messages[-1]['content'] if part['type'] == 'text' -%}
{%- set item.text = item.text ~ item.blank ~ own(part['text']) -%}{%- set item.blank = ' ' -%}
{%- endfor -%}
{%- if messages[0]['role'] == 'system' -%}{{- messages[0]['content'][0]['text'] ~ ' ' -}}{%- endif -%}
{{- item.text -}}
{%- endif -%}
"""
STRIPPING = TEMPLATE.replace("['content'][0]['text'] ~ ' ' -}}", "['content'][0]['text'].rstrip() ~ ' ' -}}")
"""Of later releases of the trainer."""
PROMPTS = {"query": "query:", "document": "passage:"}
FORWARD = {"method": "forward", "method_output_name": "last_hidden_state"}
MESSAGE = FORWARD | {"format": "structured"}
ST = "sentence_transformers"
TRANSFORMER = {"idx": 0, "name": "0", "path": "", "type": f"{ST}.base.modules.transformer.Transformer"}
POOLING = {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{ST}.{ST[:-1]}.modules.pooling.Pooling"}
POOLING["type"] = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
NORMALIZE = {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{ST}.base.modules.normalize.Normalize"}
DENSE = {"idx": 2, "name": "2", "path": "2_Dense", "type": f"{ST}.base.modules.dense.Dense"}
POOLED = {"embedding_dimension": 64, "pooling_mode": "mean", "include_prompt": True}
NAMES, SETTINGS = "config_sentence_transformers.json", "sentence_bert_config.json"
UNIT = 28


def embedder(folder: Path, text: dict[str, Any] = TEXT, **config: Any) -> Path:
    """Nemotron-3.5-Embed."""
    tokenizer = byte_level(SPECIALS, "<s>", None, composes=False)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("[\u200c", "["), normalizers.Replace("<\u200c", "<")]
    )
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names, model_max_length=1024).save_pretrained(folder)
    made = Mistral3Config(text_config=text, vision_config=VISION, image_token_index=SPECIALS.index("[IMG]"))
    save(Mistral3Model(made), folder, architectures=["Mistral3Model"], pooling="avg", **config)
    for name, content in {
        "processor_config.json": PROCESSOR,
        "chat_template.jinja": TEMPLATE,
        "modules.json": [TRANSFORMER, POOLING, NORMALIZE],
        NAMES: {"prompts": PROMPTS, "default_prompt_name": None, "similarity_fn_name": "cosine"},
        SETTINGS: {
            "max_seq_length": 1024,
            "do_lower_case": False,
            "modality_config": {"text": FORWARD, "image": FORWARD, "message": MESSAGE},
            "module_output_name": "token_embeddings",
        },
        "1_Pooling/config.json": POOLED,
    }.items():
        write(name, content)(folder)
    put("tokenizer_config.json", split_special_tokens=False, fix_mistral_regex=True)(folder)
    return folder


def reranker(folder: Path) -> Path:
    """Nemotron-3.5-Rerank: an embedder's files, another head, and names as its class has them."""
    shutil.copytree(embedder(folder.with_name("embedder-of-" + folder.name)), folder)
    shutil.rmtree(folder / "1_Pooling")
    found, draw = load_file(folder / "model.safetensors"), torch.Generator().manual_seed(4)
    score = torch.randn(1, 64, generator=draw)
    found = {f"model.{name}": tensor for name, tensor in found.items()} | {"language_model.score.weight": score}
    save_file(found, folder / "model.safetensors", metadata={"format": "pt"})
    own = {"AutoModelForSequenceClassification": "model.Mistral3ForSequenceClassification"}
    keys = {"architectures": ["Mistral3ForSequenceClassification"], "auto_map": own, "score_temperature": 2.0}
    put("config.json", is_causal=False, id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}, **keys)(folder)
    for name, content in {
        "modules.json": [TRANSFORMER, POOLING, DENSE],
        NAMES: {
            "model_type": "CrossEncoder",
            "activation_fn": "torch.nn.modules.linear.Identity",
            "prompts": {},
            "default_prompt_name": None,
        },
        SETTINGS: {
            "transformer_task": "feature-extraction",
            "module_output_name": "token_embeddings",
            "modality_config": {"text": FORWARD, "message": MESSAGE},
            "unpad_inputs": False,
            "model_kwargs": {"dtype": "auto", "attn_implementation": "sdpa"},
        },
        "1_Pooling/config.json": POOLED,
        "2_Dense/config.json": {
            "in_features": 64,
            "out_features": 1,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
            "module_input_name": "sentence_embedding",
            "module_output_name": "scores",
        },
    }.items():
        write(name, content)(folder)
    save_file({"linear.weight": score / 2.0}, folder / "2_Dense" / "model.safetensors", metadata={"format": "pt"})
    return folder


class Reference:
    """transformers' tokenizer, image processor and model, all prompts in one padded batch.

    An image is beside them always: of a lone one of one token the stock module makes no features.
    """

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = Mistral3Model.from_pretrained(folder, dtype=torch.float32).eval()
        said = read(folder, "processor_config.json")["image_processor"]
        self.images = PixtralImageProcessorPil(**{key: said[key] for key in ("size", "resample", "do_pad")})
        dense = folder / "2_Dense" / "model.safetensors"
        self.score = load_file(dense)["linear.weight"] if dense.exists() else None

    def __call__(self, *items: Sequence[Any], prompt: str = "") -> np.ndarray:
        """Unit vectors of items of texts and images."""
        head = [{"role": "system", "content": contents([prompt])}] if prompt else []
        pooled = self.pooled([[*head, {"role": "user", "content": contents(parts)}] for parts in items])
        return torch.nn.functional.normalize(pooled, dim=-1).numpy()

    def scores(self, *pairs: tuple[str, Sequence[Any]]) -> np.ndarray:
        """Scores of queries and documents."""
        roles = ("query", "document")
        both = [[{"role": role, "content": contents(one)} for role, one in zip(roles, ([query], document), strict=True)]
                for query, document in pairs]  # fmt: skip
        assert self.score is not None
        return (self.pooled(both) @ self.score.T)[:, 0].numpy()

    @torch.inference_mode()
    def pooled(self, conversations: Sequence[list[dict[str, Any]]]) -> torch.Tensor:
        """Means of the states of tokens."""
        beside = [{"role": "user", "content": contents([Image.new("RGB", (60, 30))])}]
        all_of_them = [*conversations, beside]
        images = [
            part["image"]
            for messages in all_of_them
            for message in messages
            for part in message["content"]
            if part["type"] == "image"
        ]
        seen = self.images(images, patch_size=UNIT, return_tensors="pt")
        sizes = iter(seen["image_sizes"].tolist())
        texts = []
        for messages in all_of_them:
            first, *others = self.tokenizer.apply_chat_template(messages, tokenize=False).split("[IMG]")
            texts.append(first + "".join(block(*next(sizes)) + other for other in others))
        inputs = self.tokenizer(texts, padding=True, return_tensors="pt")
        states = self.model(**inputs, **seen).last_hidden_state
        mask = inputs["attention_mask"][..., None]
        pooled: torch.Tensor = (states * mask).sum(1) / mask.sum(1)
        return pooled[:-1]


def contents(parts: Sequence[Any]) -> list[dict[str, Any]]:
    """Parts of a message."""
    kinds = ("image" if isinstance(part, Image.Image) else "text" for part in parts)
    return [{"type": kind, kind: part} for kind, part in zip(kinds, parts, strict=True)]


def block(height: int, width: int) -> str:
    """The tokens of an image, as `PixtralProcessor.replace_image_token` writes them."""
    line = "[IMG]" * (width // UNIT)
    return "[IMG_BREAK]".join([line] * (height // UNIT)) + "[IMG_END]"


def released(folder: Path) -> dict[str, Any]:
    """config.json."""
    found: dict[str, Any] = json.loads((folder / "config.json").read_text())
    return found
