"""The device that a model runs on."""

import pytest
import torch

from service.errors import ModelError
from service.model.load import choose_device


def test_a_card_that_is_not_there_ends_the_start_with_a_sentence() -> None:
    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(ModelError, match=f"--device {missing}: torch .* sees .* CUDA devices here; --device cpu runs"):
        choose_device(missing)
