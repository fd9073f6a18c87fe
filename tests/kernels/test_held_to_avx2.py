"""torch's switch that holds its own kernels to AVX2 keeps those of ours off, too: else such a run proves nothing."""

import os
import subprocess
import sys

import pytest

CODE = """
import torch
from cenote_kernels.cpu.library import runs_on
from cenote_native import numbers
from service.model.linear.cpu_backend import has_bfloat16
cpu = torch.device("cpu")
formats = [runs_on(dtype, cpu) for dtype in (torch.float32, torch.bfloat16)]
print(numbers._native() is not None, *formats, has_bfloat16())
"""


@pytest.mark.parametrize("held", ["avx2", "default"])
def test_no_kernel_for_avx512_runs(held: str) -> None:
    environ = os.environ | {"ATEN_CPU_CAPABILITY": held}
    ran = subprocess.run([sys.executable, "-c", CODE], env=environ, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"] * 4
