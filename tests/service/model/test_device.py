"""The device that a model runs on."""

import pytest
import torch

from service.errors import ModelError
from service.model.architectures import load_model
from service.model.load import choose_device
from tests.conftest import CHECKPOINT


def test_a_card_that_is_not_there_ends_the_start_with_a_sentence() -> None:
    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(ModelError, match=f"--device {missing}: torch .* sees .* CUDA devices here; --device cpu runs"):
        choose_device(missing)


def test_float32_is_float32_in_a_towers_convolution_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's default on a GPU multiplies float32 in tf32 there, whose mantissa has 10 bits."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    load_model("qwen3_vl", CHECKPOINT, torch.device("cpu"), torch.float32, "last_token")
    assert torch.backends.cudnn.allow_tf32 is False
