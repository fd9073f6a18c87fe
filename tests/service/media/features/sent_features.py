"""Features as tests send them, and what becomes of them."""

import base64
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save as save_safetensors

from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.features.features import FeatureRule, FeaturesItem, open_features

HIDDEN, WIDTH = 8, 24
RULE = FeatureRule(hidden=HIDDEN, width=WIDTH, origin="ours")
GRID = [1, 4, 6]
ROWS = 6
PARAM = "inputs[3].content[0].image_embeds"


def numbers(rows: int = ROWS, width: int = WIDTH, dtype: str = "<f4") -> np.ndarray:
    return np.random.default_rng(rows * width).normal(size=(rows, width)).astype(dtype)


def safetensors(tensor: torch.Tensor) -> bytes:
    return save_safetensors({"image_embeds": tensor})


def opened(file: bytes | str, grid: list[Any] = GRID, rule: FeatureRule = RULE) -> list[FeaturesItem]:
    text = file if isinstance(file, str) else base64.b64encode(file).decode()
    return open_features(text, grid, rule, ErrorLocation(PARAM, 3))


def refusal(file: bytes | str, grid: list[Any] = GRID, rule: FeatureRule = RULE) -> MediaError:
    with pytest.raises(MediaError) as caught:
        opened(file, grid, rule)
    error = caught.value
    assert (error.code, error.index) == ("invalid_image_embeds", 3)
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert len(error.message) < 400
    return error
