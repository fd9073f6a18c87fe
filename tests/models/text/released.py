"""Folders as models were released by their own code: config.json in its keys, tensors by its names."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedTokenizerFast

from tests.models.text.checkpoints import Recipe


def released(native: Path, folder: Path, config: Mapping[str, Any], *, has: str, prefix: str = "") -> Path:
    """A copy of a folder with another config.json; transformers writes tensors by the names of their release.

    Args:
        has: one of them.
        prefix: in front of those of the encoder.
    """
    shutil.copytree(native, folder)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = load_file(native / "model.safetensors")
    assert has in tensors
    tensors = {
        re.sub("^((gte|new)\\.)?(?=embeddings|encoder|pooler)", prefix, name): one for name, one in tensors.items()
    }
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def write_checkpoint(
    folder: Path, recipe: Recipe, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> None:
    """Files of a model without a class in transformers, with modules as older releases wrote them: mean, normalized."""
    folder.mkdir()
    PreTrainedTokenizerFast(tokenizer_object=recipe.tokenizer(), **recipe.names).save_pretrained(folder)
    save_file(dict(tensors), folder / "model.safetensors", {"format": "pt"})
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    pooling = {"word_embedding_dimension": config["hidden_size"], "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling").mkdir()
    written = {
        "config.json": config,
        "modules.json": modules,
        "1_Pooling/config.json": pooling,
        "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
    }
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content))


def random_tensors(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Tensors of these shapes; weights of norms are about 1."""
    draw = torch.Generator().manual_seed(20261127)
    return {
        name: torch.randn(shape, generator=draw) * 0.15 + (len(shape) == 1 and name.endswith("weight"))
        for name, shape in shapes.items()
    }
