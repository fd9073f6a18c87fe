"""Fixtures of the models' tests."""

import pytest
import torch

from cenote_kernels.cpu.library import runs_on
from service.model.linear.cpu_backend import can_prepack
from service.model.linear.products import NATIVE, ONEDNN, PackedProducts

CPU = torch.device("cpu")


@pytest.fixture(scope="session", params=["native", "onednn"])
def packed(request: pytest.FixtureRequest) -> PackedProducts:
    """Each kind of packed products that this processor runs in float32, whichever is the faster."""
    runs = runs_on(torch.float32, CPU) if request.param == "native" else can_prepack(CPU, torch.float32)
    if not runs:
        pytest.skip("not on this processor")
    return NATIVE if request.param == "native" else ONEDNN
