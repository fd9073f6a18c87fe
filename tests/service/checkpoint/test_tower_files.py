"""Vision towers are compared by their files: whatever differs in one byte, a shape or a setting is another tower."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from service.checkpoint.lora.adapter import JOINED
from service.checkpoint.tower_files import same_towers

CONFIG = {"vision_config": {"depth": 2, "hidden_size": 4}}


def checkpoint(
    folder: Path,
    config: dict[str, Any] = CONFIG,
    prefix: str = "model.visual.",
    *,
    weight: float = 1.0,
    dtype: torch.dtype = torch.float32,
    text: float = 0.0,
) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {
        f"{prefix}patch.weight": torch.full((3, 4), weight, dtype=dtype),
        f"{prefix}patch.bias": torch.zeros(4),
        "model.language_model.embed.weight": torch.full((5,), text),
    }
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_the_first_of_the_same_is_named_for_each(tmp_path: Path) -> None:
    folders = [
        checkpoint(tmp_path / "a"),
        checkpoint(tmp_path / "b", text=3.0),  # another language model, the same tower
        checkpoint(tmp_path / "c", weight=2.0),
        checkpoint(tmp_path / "d", prefix="visual."),
        checkpoint(tmp_path / "e", weight=2.0),
    ]
    assert same_towers(folders) == [0, 0, 2, 0, 2]


@pytest.mark.parametrize(
    "other",
    [
        {"weight": 1.0000001},
        {"dtype": torch.bfloat16},
        {"config": {"vision_config": {"depth": 3, "hidden_size": 4}}},
        {"config": CONFIG | {"quantization_config": {"quant_method": "gptq"}}},
        {"prefix": "encoder.visual."},
        {"prefix": "text."},
    ],
)
def test_what_differs_is_another_tower(tmp_path: Path, other: dict[str, Any]) -> None:
    assert same_towers([checkpoint(tmp_path / "a"), checkpoint(tmp_path / "b", **other)]) == [0, 1]


def test_models_without_a_tower_have_none_in_common(tmp_path: Path) -> None:
    folders = [checkpoint(tmp_path / name, {}, "text.") for name in "ab"]
    assert same_towers(folders) == [0, 1]


@pytest.mark.parametrize(("layer", "first"), [("model.visual.patch", 1), ("model.language_model.embed", 0)])
def test_an_adapter_of_the_tower_makes_it_another(tmp_path: Path, layer: str, first: int) -> None:
    folders = [checkpoint(tmp_path / name) for name in "ab"]
    place = folders[1] / JOINED
    place.mkdir()
    said = {"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": "all-linear"}
    (place / "config.json").write_text(json.dumps(said))
    halves = {"A": torch.ones(2, 4), "B": torch.ones(3, 2)}
    tensors = {f"base_model.model.{layer}.lora_{half}.weight": one for half, one in halves.items()}
    save_file(tensors, place / "model.safetensors")
    assert same_towers(folders) == [0, first]
