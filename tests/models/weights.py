"""Random weights: no path of a forward can hide behind a zero or a one. Nothing of the service is here."""

import json
from pathlib import Path
from typing import Any

import torch


def drawn(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Numbers in the place of a tensor; those of a norm, all of them ones before, are near one."""
    is_norm = tensor.ndim == 1 and bool((tensor == 1).all())
    noise = torch.randn(tensor.shape, generator=generator) * (0.2 if is_norm else 0.08)
    return noise + 1 if is_norm else noise


def save(model: Any, folder: Path, **config: object) -> Path:
    """Write a model of transformers with weights that are drawn; `config` is laid over config.json."""
    generator = torch.Generator().manual_seed(20261121)
    for parameter in model.parameters():
        parameter.data = drawn(parameter, generator)
    model.save_pretrained(folder)
    return change_json(folder / "config.json", **config).parent


def change_json(path: Path, **keys: object) -> Path:
    """Set keys of a file's object; None takes one away."""
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({key: value for key, value in (content | keys).items() if value is not None}))
    return path
