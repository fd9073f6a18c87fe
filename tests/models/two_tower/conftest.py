"""Checkpoints of the families, made once; the real front half and the real engine half on each, and the reference."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoModel, AutoTokenizer

from tests.models.served import Served
from tests.models.two_tower.checkpoints import RECIPES, Recipe, make_checkpoint


@dataclass(frozen=True)
class Reference:
    """transformers alone: its tokenizer, its image processor, its `get_*_features`."""

    recipe: Recipe
    tokenizer: Any
    processor: Any
    model: Any

    @classmethod
    def of(cls, name: str, folder: Path) -> "Reference":
        """The reference of a family's checkpoint."""
        recipe, model = (
            RECIPES[name],
            AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager"),
        )
        tokenizer, processor = AutoTokenizer.from_pretrained(folder), recipe.processor.from_pretrained(folder)
        return cls(recipe, tokenizer, processor, model.eval())

    @torch.inference_mode()
    def texts(self, texts: Sequence[str]) -> np.ndarray:
        length = self.model.config.text_config.max_position_embeddings
        most = min(length, self.tokenizer.model_max_length)
        inputs = self.tokenizer(
            list(texts), padding=self.recipe.padding, truncation=True, max_length=most, return_tensors="pt"
        )
        if self.recipe.padding == "max_length":
            inputs = {"input_ids": inputs["input_ids"]}
        return _unit(self.model.get_text_features(**inputs).pooler_output)

    @torch.inference_mode()
    def images(self, encoded: Sequence[bytes]) -> np.ndarray:
        images = [Image.open(io.BytesIO(one)) for one in encoded]
        return _unit(self.model.get_image_features(**self.processor(images, return_tensors="pt")).pooler_output)


class Towers(Served):
    """A checkpoint and its reference."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(folder)
        self.reference = Reference.of(name, folder)


@pytest.fixture(scope="session")
def two_towers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Towers]:
    """The checkpoint of a family, served; made when it is first asked for."""
    return cache(lambda name: Towers(name, make_checkpoint(name, tmp_path_factory.mktemp(name) / "checkpoint")))


def _unit(vectors: torch.Tensor) -> np.ndarray:
    unit: np.ndarray = (vectors / vectors.norm(dim=-1, keepdim=True)).numpy()
    return unit
