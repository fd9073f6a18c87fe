"""The one place that chooses what a processor runs: which products, which number formats, whose attention.

By what Linux says of it (its instructions, and who made it) and by what has been measured.
"""

import platform
from functools import cache
from pathlib import Path

import torch

from cenote_kernels.cpu import attention as kernel
from cenote_kernels.cpu.library import FORMATS, chosen, runs_on
from cenote_native import may_use
from service.model.linear.bf16_gemm import Gemm, find_gemm
from service.model.linear.products import NATIVE, ONEDNN, PackedProducts

CPUINFO = Path("/proc/cpuinfo")


def processor_words() -> frozenset[str]:
    """Every word of `/proc/cpuinfo`, such as `amx_bf16` or `AuthenticAMD`; none on other systems.

    Without the instructions that the process is not to use.
    """
    words = frozenset(CPUINFO.read_text().split()) if CPUINFO.exists() else frozenset[str]()
    return words if may_use("avx512") else frozenset(word for word in words if not word.startswith(("avx512", "amx_")))


def has_tiles() -> bool:
    """True if the processor multiplies tiles of bfloat16 (AMX)."""
    return "amx_bf16" in processor_words()


def has_bfloat16() -> bool:
    """True if the processor multiplies bfloat16."""
    return not processor_words().isdisjoint({"avx512_bf16", "amx_bf16"})


def packed_products(device: torch.device, dtype: torch.dtype) -> PackedProducts | None:
    """The faster packed products of a device; None where torch's own are.

    Our own where they have been measured, on AMD; else oneDNN's, which has tiles on some.
    """
    if runs_on(dtype, device) and "AuthenticAMD" in processor_words():
        return NATIVE
    return ONEDNN if can_prepack_decoder(device, dtype) else None


def packed_products_of_tower(device: torch.device, dtype: torch.dtype) -> PackedProducts | None:
    """The same for vision towers: in bfloat16 oneDNN's layout gains nothing there."""
    products = packed_products(device, dtype)
    return None if products is ONEDNN and not can_prepack(device, dtype) else products


def can_prepack(device: torch.device, dtype: torch.dtype) -> bool:
    """True if products in oneDNN's layout are faster than torch's: float32 on an x86 processor.

    There torch multiplies by MKL. Other processors have not been measured.
    """
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    has_onednn: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return is_float32_on_cpu(device, dtype) and is_x86 and has_onednn


def can_prepack_decoder(device: torch.device, dtype: torch.dtype) -> bool:
    """True if a decoder's products are faster so: float32 likewise, and bfloat16.

    In bfloat16 torch multiplies by oneDNN too, but over the weight as it is, and for each number of rows that comes up
    with code of its own.
    """
    if dtype == torch.bfloat16:
        return can_prepack(device, torch.float32) and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return can_prepack(device, dtype)


def is_float32_on_cpu(device: torch.device, dtype: torch.dtype) -> bool:
    """True if a model computes in float32 on a processor, where other number formats may be faster."""
    return device.type == "cpu" and dtype == torch.float32


def gemm_of_parts(device: torch.device, dtype: torch.dtype) -> Gemm | None:
    """The product by which float32 is computed in parts of bfloat16; None where that is not faster: without tiles."""
    return find_gemm() if is_float32_on_cpu(device, dtype) and has_tiles() else None


def bfloat16_instead(device: torch.device, dtype: torch.dtype) -> PackedProducts | None:
    """Packed products in bfloat16 of a model that computes in float32; None where they would not be faster."""
    is_open = is_float32_on_cpu(device, dtype) and has_bfloat16()
    return packed_products(device, torch.bfloat16) if is_open else None


@cache
def has_attention(head_dim: int, dtype: torch.dtype, device: torch.device) -> bool:
    """True if our kernel attends. In bfloat16 torch's attention has processors with tiles, where ours has none."""
    return kernel.takes(head_dim, dtype, device) and not (dtype == torch.bfloat16 and has_tiles())


def say_kernels(device: torch.device, dtype: torch.dtype, *, is_packed: bool) -> str:
    """Which kernels run on a processor, and why not those for its widest instructions; empty for another device.

    Args:
        device: of the model.
        dtype: in which it computes.
        is_packed: its weights are packed as `packed_products` says.
    """
    if device.type != "cpu":
        return ""
    runs = chosen().instructions if runs_on(dtype, device) else ""
    own = packed_products(device, dtype) if is_packed else None
    others = "" if own is NATIVE else "oneDNN" if own is ONEDNN else "torch" if runs else ""
    why = _why_not_widest(dtype, runs)
    return f"{runs or 'torch'}{others and ', products by '}{others}{why and '; '}{why}"


def _why_not_widest(dtype: torch.dtype, runs: str) -> str:
    _, instructions, why = chosen()
    if dtype not in FORMATS:
        return "kernels are for float32 and bfloat16"
    return why if runs == instructions else ", ".join(filter(None, ["this processor has none for bfloat16", why]))
