"""Why tests of kernels for AVX-512 are skipped here; `conftest.py` counts them at the end of a run."""

from cenote_native import may_use, open_library
from tests.conftest import ROOT


def _reason() -> str:
    if not may_use("avx512"):
        return "held to fewer instructions by ATEN_CPU_CAPABILITY"
    if open_library(ROOT / "kernels" / "cenote_kernels" / "cpu") is None:
        return "there was no C compiler at the installation"
    return "the processor lacks AVX-512, or its bfloat16"


NO_KERNEL = f"no AVX-512 kernel runs here: {_reason()}"
