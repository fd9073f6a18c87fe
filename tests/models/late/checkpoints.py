"""Small random models of pages, in the forms of transformers and of colpali-engine, and LoRA adapters.

Imports nothing of the service: `record_colpali_engine.py` makes the same ones where colpali-engine is installed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    ColQwen2Config,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLModel,
    Qwen2VLConfig,
    Qwen2VLImageProcessorPil,
    Qwen2VLModel,
    Qwen3_5Config,
    Qwen3_5Model,
    Qwen3VLConfig,
    Qwen3VLModel,
)

from tests.models.text.tokenizers import byte_level
from tests.models.vlm.checkpoints import (
    IDS,
    QWEN2_5_VISION,
    QWEN2_VISION,
    QWEN3_5_TEXT,
    QWEN3_5_VISION,
    SPECIALS,
    TEXT,
    tokenizer,
)
from tests.models.weights import drawn, save

MAX_PAGE_TOKENS = 80
"""A limit of pages that is not the default."""
DIMENSIONS, DIMENSIONS_3 = 128, 320
"""Of colpali-engine's classes: ColQwen2 and 2.5, and ColQwen3."""
RANK, ALPHA = 4, 12
OF_IMAGES = ("visual", "vision", "projector")
QWEN3_VISION: dict[str, Any] = {
    "depth": 3,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_heads": 2,
    "out_hidden_size": 64,
    "num_position_embeddings": 64,
    "deepstack_visual_indexes": [0, 1],
}
ROPE = {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True, "rope_theta": 10_000.0}
HALVES = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}


def image_processor(max_tokens: int = MAX_PAGE_TOKENS, *, factor: int = 28) -> Qwen2VLImageProcessorPil:
    """Qwen2-VL's, or Qwen3-VL's for a factor of 32."""
    size = {"shortest_edge": 4 * factor * factor, "longest_edge": max_tokens * factor * factor}
    return Qwen2VLImageProcessorPil(size=size, **({"patch_size": 16, **HALVES} if factor == 32 else {}))


def hf_colqwen2(folder: Path, **config: object) -> Path:
    """ColQwen2 as transformers 5 writes it."""
    return _hf(Qwen2VLConfig(text_config=TEXT, vision_config=QWEN2_VISION, **IDS), folder, **config)


def hf_colqwen2_5(folder: Path, **config: object) -> Path:
    """The same on Qwen2.5-VL, whose tower attends in windows."""
    return _hf(Qwen2_5_VLConfig(text_config=TEXT, vision_config=QWEN2_5_VISION, **IDS), folder, **config)


def _hf(vlm: Qwen2VLConfig | Qwen2_5_VLConfig, folder: Path, **config: object) -> Path:
    made = PreTrainedTokenizerFast(tokenizer_object=byte_level(SPECIALS, None, None), pad_token="<|endoftext|>")
    ColQwen2Processor(image_processor(), made).save_pretrained(folder)
    return save(ColQwen2ForRetrieval(ColQwen2Config(vlm_config=vlm.to_dict())), folder, **config)


def colqwen2_5(folder: Path, *, old_names: bool = False, **config: object) -> Path:
    """ColQwen2.5 merged, or the base of an adapter: `Qwen2_5_VLModel` and `custom_text_proj` in one file.

    Args:
        old_names: as releases of transformers before 4.52 wrote them, with the decoder's fields on top.
        config: added to config.json.
    """
    ids = tokenizer(folder)
    image_processor().save_pretrained(folder)
    made = Qwen2_5_VLModel(Qwen2_5_VLConfig(text_config=TEXT, vision_config=QWEN2_5_VISION, **ids))
    return _saved(made, folder, DIMENSIONS, "ColQwen2_5", old_names=old_names, **config)


def colqwen2(folder: Path, **config: object) -> Path:
    """ColQwen2 in the engine's form."""
    ids = tokenizer(folder)
    image_processor().save_pretrained(folder)
    made = Qwen2VLModel(Qwen2VLConfig(text_config=TEXT, vision_config=QWEN2_VISION, **ids))
    return _saved(made, folder, DIMENSIONS, "ColQwen2", **config)


def colqwen3(folder: Path, **config: object) -> Path:
    """ColQwen3 in the engine's form: `Qwen3VLModel` and `custom_text_proj` in one file."""
    ids = tokenizer(folder)
    image_processor(factor=32).save_pretrained(folder)
    text = {**TEXT, "head_dim": 16, "rope_parameters": ROPE}
    made = Qwen3VLModel(Qwen3VLConfig(text_config=text, vision_config=QWEN3_VISION, **ids))
    return _saved(made, folder, DIMENSIONS_3, "ColQwen3", **config)


def colqwen3_5(folder: Path, **config: object) -> Path:
    """ColQwen3.5 in the engine's form: `Qwen3_5Model` and `custom_text_proj` in one file."""
    ids = tokenizer(folder)
    image_processor(factor=32).save_pretrained(folder)
    made = Qwen3_5Model(Qwen3_5Config(text_config=QWEN3_5_TEXT, vision_config=QWEN3_5_VISION, **ids))
    return _saved(made, folder, DIMENSIONS, "ColQwen3_5", **{"dim": DIMENSIONS, **config})


def tomoro(folder: Path, **config: object) -> Path:
    """TomoroAI's form of the same weights: all below `vlm.`, a head that nothing reads, a processor of its own."""
    colqwen3(folder, model_type="colqwen3", architectures=["ColQwen3"], embed_dim=DIMENSIONS_3, **config)
    tensors = load_file(folder / "model.safetensors")
    renamed = {f"vlm.model.{name}": one for name, one in tensors.items() if not name.startswith("custom")}
    renamed |= {f"embedding_proj_layer.{end}": tensors[f"custom_text_proj.{end}"] for end in ("weight", "bias")}
    renamed["vlm.lm_head.weight"] = torch.ones(512, 64)
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    page = "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image."
    said = {"visual_prompt_prefix": page, "visual_prompt_suffix": "<|im_end|><|endoftext|>", "query_prefix": ""}
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "ColQwen3Processor", **said}))
    return folder


def ops(folder: Path, dims: int, **config: object) -> Path:
    """OpenSearch-AI's form of the same weights: `dims` says how many numbers of a vector are taken."""
    return colqwen3(folder, model_type="ops_colqwen3", architectures=["OpsColQwen3Model"], dims=dims, **config)


def _saved(
    model: Any, folder: Path, dimensions: int, architecture: str, *, old_names: bool = False, **config: object
) -> Path:
    """As colpali-engine saves a model: decoder and projection side by side."""
    generator = torch.Generator().manual_seed(20261124)
    tensors = {name: drawn(one, generator) for name, one in sorted(model.state_dict().items())}
    width = model.config.text_config.hidden_size
    for name, shape in (("weight", (dimensions, width)), ("bias", (dimensions,))):
        tensors[f"custom_text_proj.{name}"] = torch.randn(shape, generator=generator) * 0.08
    written = model.config.to_dict() | {"architectures": [architecture]}
    if old_names:
        tensors = {name.replace("language_model.", "model."): one for name, one in tensors.items()}
        written |= written.pop("text_config") | {"model_type": written["model_type"]}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(written | config))
    return folder


def adapter(folder: Path, base: Path, **said: object) -> Path:
    """A LoRA of a base's decoder and projection, with the tokenizer and processor, as colpali-engine's are released.

    Args:
        said: added to adapter_config.json.
    """
    folder.mkdir(parents=True)
    for path in (base / "tokenizer.json", base / "preprocessor_config.json"):
        if path.exists():
            (folder / path.name).write_bytes(path.read_bytes())
    generator = torch.Generator().manual_seed(20261125)
    tensors: dict[str, torch.Tensor] = {}
    for name, (out, width) in sorted(lora_layers(load_file(base / "model.safetensors")).items()):
        for half, shape in {"A": (RANK, width), "B": (out, RANK)}.items():
            tensors[f"base_model.model.{name}.lora_{half}.weight"] = torch.randn(shape, generator=generator) * 0.1
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})
    config = {
        "peft_type": "LORA",
        "task_type": "FEATURE_EXTRACTION",
        "r": RANK,
        "lora_alpha": ALPHA,
        "bias": "none",
        "base_model_name_or_path": str(base),
        "revision": None,
        "init_lora_weights": "gaussian",
        "inference_mode": True,
        "lora_dropout": 0.1,
        "modules_to_save": None,
        "use_dora": False,
        "target_modules": r"(.*(model).*(down_proj|gate_proj|up_proj|k_proj|q_proj|v_proj|o_proj).*$"
        r"|.*(custom_text_proj|linear).*$)",
    }
    (folder / "adapter_config.json").write_text(json.dumps(config | said))
    return folder


def lora_layers(tensors: Mapping[str, torch.Tensor]) -> dict[str, tuple[int, int]]:
    """The layers that the engine's own pattern of modules means: the decoder's linear layers, and the projection."""
    return {
        name.removesuffix(".weight"): (one.shape[0], one.shape[1])
        for name, one in tensors.items()
        if name.endswith(("_proj.weight", "linear.weight")) and not any(part in name for part in OF_IMAGES)
    }
