"""What the start says of kernels: which run, and what a person can do about those that do not."""

from typing import Any

import pytest
import torch

from cenote_native import Chosen
from service.model.linear import cpu_backend
from service.model.linear.cpu_backend import say_kernels
from service.model.linear.products import NATIVE, ONEDNN

CPU = torch.device("cpu")


def said(monkeypatch: pytest.MonkeyPatch, runs: str, why: str = "", *, products: Any = None) -> str:
    """The line of a processor on which `runs` are the instructions of our kernels."""
    monkeypatch.setattr(cpu_backend, "chosen", lambda: Chosen(None, runs, why))
    monkeypatch.setattr(cpu_backend, "runs_on", lambda dtype, device: runs != "" and dtype == torch.float32)
    monkeypatch.setattr(cpu_backend, "packed_products", lambda device, dtype: products)
    return say_kernels(CPU, torch.float32, is_packed=products is not None)


def test_the_widest_kernels_need_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, "avx512", products=NATIVE) == "avx512"
    assert said(monkeypatch, "avx512", products=ONEDNN) == "avx512, products by oneDNN"
    assert said(monkeypatch, "avx512") == "avx512, products by torch"


def test_why_others_do_not_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "not avx512: this processor has none"
    assert said(monkeypatch, "avx2", why, products=NATIVE) == f"avx2; {why}"
    assert (
        said(monkeypatch, "", "nothing is compiled", products=ONEDNN)
        == "torch, products by oneDNN; nothing is compiled"
    )


def test_formats_and_devices_without_kernels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    said(monkeypatch, "avx2", "not avx512: this processor has none")
    of_half, of_brain = (say_kernels(CPU, one, is_packed=False) for one in (torch.float16, torch.bfloat16))
    assert of_half == "torch; kernels are for float32 and bfloat16"
    assert of_brain == "torch; this processor has none for bfloat16, not avx512: this processor has none"
    assert not say_kernels(torch.device("meta"), torch.float32, is_packed=False)
