"""Small random checkpoints as colpali-engine saves them: decoder and projection side by side, and LoRA adapters.

Imports nothing of the service: `record_colpali_engine.py` makes the same ones where colpali-engine is installed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLModel, Qwen2VLConfig, Qwen2VLImageProcessorPil, Qwen2VLModel

from tests.models.vlm.checkpoints import QWEN2_5_VISION, QWEN2_VISION, TEXT, tokenizer

PIXELS_OF_TOKEN = 28 * 28
MAX_PAGE_TOKENS = 100
DIMENSIONS = 128
RANK, ALPHA = 4, 12


def colqwen2_5(folder: Path, *, old_names: bool = False, **config: object) -> Path:
    """ColQwen2.5 merged, or the base of an adapter: `Qwen2_5_VLModel` and `custom_text_proj` in one file.

    Args:
        old_names: as releases of transformers before 4.52 wrote them, with the decoder's fields on top.
        config: added to config.json.
    """
    made = Qwen2_5_VLModel(Qwen2_5_VLConfig(text_config=TEXT, vision_config=QWEN2_5_VISION, **_small_files(folder)))
    return saved(made, folder, DIMENSIONS, "ColQwen2_5", old_names=old_names, **config)


def colqwen2(folder: Path, **config: object) -> Path:
    """ColQwen2 in the engine's form."""
    made = Qwen2VLModel(Qwen2VLConfig(text_config=TEXT, vision_config=QWEN2_VISION, **_small_files(folder)))
    return saved(made, folder, DIMENSIONS, "ColQwen2", **config)


def _small_files(folder: Path) -> dict[str, Any]:
    ids = tokenizer(folder)
    processor(folder)
    return ids


def processor(folder: Path) -> None:
    """preprocessor_config.json, with a limit of pages that is not the default."""
    size = {"shortest_edge": 4 * PIXELS_OF_TOKEN, "longest_edge": MAX_PAGE_TOKENS * PIXELS_OF_TOKEN}
    Qwen2VLImageProcessorPil(size=size).save_pretrained(folder)


def saved(
    model: Any, folder: Path, dimensions: int, architecture: str, *, old_names: bool = False, **config: object
) -> Path:
    """Random weights, none at its initial value, with a projection among them."""
    generator = torch.Generator().manual_seed(20261124)
    tensors = {name: _random(one, generator) for name, one in sorted(model.state_dict().items())}
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


def _random(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    is_norm = tensor.ndim == 1 and bool((tensor == 1).all())
    noise = torch.randn(tensor.shape, generator=generator) * (0.2 if is_norm else 0.08)
    return noise + 1 if is_norm else noise


def adapter(folder: Path, base: Path, **said: object) -> Path:
    """A LoRA of a base's decoder and projection, with the tokenizer and processor, as colpali-engine's are released.

    Args:
        said: added to adapter_config.json.
    """
    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "preprocessor_config.json"):
        (folder / name).write_bytes((base / name).read_bytes())
    generator = torch.Generator().manual_seed(20261125)
    tensors: dict[str, torch.Tensor] = {}
    for name, (out, width) in sorted(lora_layers(load_file(base / "model.safetensors")).items()):
        halves = {"A": (RANK, width), "B": (out, RANK)}
        for half, shape in halves.items():
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
        r"|.*(custom_text_proj).*$)",
    }
    (folder / "adapter_config.json").write_text(json.dumps(config | said))
    return folder


def lora_layers(tensors: Mapping[str, torch.Tensor]) -> dict[str, tuple[int, int]]:
    """The layers that the engine's own pattern of modules means: the decoder's linear layers, and the projection."""
    layers = {
        name.removesuffix(".weight"): tuple(one.shape)
        for name, one in tensors.items()
        if name.endswith("_proj.weight") and "visual" not in name
    }
    return {name: (out, width) for name, (out, width) in layers.items()}
