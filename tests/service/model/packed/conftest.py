"""Attention of a CPU in both ways: by our kernel where it runs, and by torch."""

import pytest
import torch

from service.model.linear.cpu_backend import has_attention
from service.model.packed import attention
from tests.no_kernel import NO_KERNEL


@pytest.fixture(params=["kernel", "torch"])
def attention_of_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "torch":
        monkeypatch.setattr(attention, "has_attention", lambda *_: False)
    elif not has_attention(16, torch.float32, torch.device("cpu")):
        pytest.skip(NO_KERNEL)
