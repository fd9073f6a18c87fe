"""The oracle's model as transformers has it."""

import pytest
import torch
from transformers import Qwen3VLModel

from service.model.load import load_stock
from service.model.qwen3_vl.qwen3_vl import PATCH
from tests.conftest import CHECKPOINT


@pytest.fixture(scope="module")
def model() -> Qwen3VLModel:
    return load_stock(Qwen3VLModel, CHECKPOINT, torch.device("cpu"), torch.float32)


@torch.inference_mode()
def stock_features(model: Qwen3VLModel, patches: torch.Tensor, height: int, width: int) -> torch.Tensor:
    """What the stock tower makes of an image's patches."""
    grid_thw = torch.tensor([[1, height // PATCH, width // PATCH]])
    out = model.visual(patches.to(model.dtype), grid_thw=grid_thw, return_dict=True)
    return torch.cat([out.pooler_output, *out.deepstack_features], dim=-1)
