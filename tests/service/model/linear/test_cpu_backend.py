"""What the start says of kernels: which run, and what a person can do about those that do not."""

import platform
from typing import Any

import pytest
import torch

from service.model.linear import cpu_backend
from service.model.linear.cpu_backend import say_kernels
from service.model.linear.products import NATIVE, ONEDNN

CPU = torch.device("cpu")


def said(
    monkeypatch: pytest.MonkeyPatch, runs: str, *, products: Any = None, machine: str = "x86_64", **changes: Any
) -> str:
    """The line of a processor on which `runs` are the instructions of our kernels."""
    changes |= {"instructions": lambda dtype, device: runs, "packed_products": lambda device, dtype: products}
    for name, changed in {"library": lambda: True, "may_use": lambda name: True, **changes}.items():
        monkeypatch.setattr(cpu_backend, name, changed)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    return say_kernels(CPU, torch.float32, is_packed=products is not None)


def test_the_widest_kernels_need_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, "avx512", products=NATIVE) == "avx512"
    assert said(monkeypatch, "avx512", products=ONEDNN) == "avx512, products by oneDNN"
    assert said(monkeypatch, "avx512") == "avx512, products by torch"
    assert said(monkeypatch, "neon", products=NATIVE, machine="arm64") == "neon"


def test_why_others_do_not_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, "avx2", products=NATIVE) == "avx2; not avx512: this processor has none"
    assert said(monkeypatch, "", machine="riscv64") == "torch; there are no kernels for riscv64"
    assert "install a C compiler" in said(monkeypatch, "", library=lambda: None)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    held = said(monkeypatch, "", products=ONEDNN, may_use=lambda name: name != "avx512")
    assert held == "torch, products by oneDNN; not avx512: ATEN_CPU_CAPABILITY=avx2 holds the process back"


def test_formats_and_devices_without_kernels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said(monkeypatch, "")
    of_half, of_brain = (say_kernels(CPU, one, is_packed=False) for one in (torch.float16, torch.bfloat16))
    assert of_half == "torch; not avx512: kernels are for float32 and bfloat16"
    assert of_brain == "torch; not avx512: this processor has none for bfloat16"
    assert not say_kernels(torch.device("meta"), torch.float32, is_packed=False)
