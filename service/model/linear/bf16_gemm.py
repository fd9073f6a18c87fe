"""``C = A Wᵀ + β C`` with A and W in bfloat16 and C in float32, which torch has for GPUs only.

It is MKL's `cblas_gemm_bf16bf16f32`, called in the MKL that torch's own library for x86 holds and exports. Without
tiles for bfloat16 (AMX) it would be slower than float32.

Source: oneMKL reference, `cblas_gemm_bf16bf16f32`; Intel 64 and IA-32 optimization manual, chapter 20 (AMX).
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import torch

Gemm = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, float], None]
"""`[rows, inputs]` and `[outputs, inputs]` in bfloat16, `[rows, outputs]` in float32, β; rows lie close by columns."""

_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112  # the C interface's CBLAS_LAYOUT and CBLAS_TRANSPOSE
_LIBRARY: Final = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"


@cache
def find_gemm() -> Gemm | None:
    """The product, tried on known numbers; None where torch's library has none. Ask for tiles first."""
    try:
        gemm = _bind(ctypes.CDLL(str(_LIBRARY)))
    except (OSError, AttributeError):  # no such library, or another one inside
        return None
    return gemm if _is_right(gemm) else None


def _bind(library: ctypes.CDLL) -> Gemm:
    function = library.cblas_gemm_bf16bf16f32
    size, pointer, scalar = ctypes.c_int, ctypes.c_void_p, ctypes.c_float
    function.argtypes = [*(size,) * 6, scalar, pointer, size, pointer, size, scalar, pointer, size]
    function.restype = None

    def gemm(a: torch.Tensor, weight: torch.Tensor, out: torch.Tensor, beta: float) -> None:
        shape = (len(a), len(weight), a.shape[1])
        sides = (a.data_ptr(), a.stride(0), weight.data_ptr(), weight.stride(0))
        function(_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED, *shape, 1.0, *sides, beta, out.data_ptr(), out.stride(0))

    return gemm


def _is_right(gemm: Gemm) -> bool:
    """Whole numbers, whose products and sums both formats hold exactly, with rows that lie apart in all three."""
    a, weight = torch.arange(24.0).view(3, 8)[:, :5] - 9, torch.arange(32.0).view(4, 8)[:, 1:6] - 14
    out = torch.arange(21.0).view(3, 7)[:, :4]
    want = a @ weight.t() + out
    gemm(_apart(a), _apart(weight), out, 1.0)
    return torch.equal(out, want)


def _apart(rows: torch.Tensor) -> torch.Tensor:
    """In bfloat16, with the strides that it had."""
    return torch.empty_strided(rows.shape, rows.stride(), dtype=torch.bfloat16).copy_(rows)
