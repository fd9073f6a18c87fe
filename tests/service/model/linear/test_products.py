"""The ways to compute products: which one a processor has, and what packing leaves of a module."""

import weakref
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from cenote_kernels.cpu.library import runs_on
from service.model.linear import cpu_backend
from service.model.linear.cpu_backend import packed_products, packed_products_of_tower
from service.model.linear.linear import Linear
from service.model.linear.products import NATIVE, PackedModule, PackedProduct, PackedProducts, pack_modules, torchs
from tests.no_kernel import NO_KERNEL

CPU = torch.device("cpu")
TOLERANCE = 5e-6


@pytest.mark.parametrize("num_rows", [1, 2, 6, 259, 272, 320, 512, 513, 1300])
@torch.inference_mode()
def test_every_way_gives_torchs_products(packed: PackedProducts, num_rows: int) -> None:
    torch.manual_seed(num_rows)
    linear = Linear(torch.randn(96, 64) / 8, torch.randn(96))
    gates = Linear(torch.randn(2 * 40, 64) / 8)
    x, residual = torch.randn(num_rows, 64), torch.randn(num_rows, 96)
    want = functional.linear(x, linear.weight, linear.bias)
    gate, up = functional.linear(x, gates.weight).chunk(2, dim=-1)
    for one in (packed.make(linear), packed.make_for_any_rows(linear), torchs().make(linear)):
        memory = torch.empty_like(residual)
        assert (one.project(x, memory) - want).abs().max() <= TOLERANCE
        assert (one.project_add(x, residual.clone()) - want - residual).abs().max() <= TOLERANCE
        by_tanh = functional.gelu(want, approximate="tanh")
        assert (one.project_gelu_tanh(x, memory) - by_tanh).abs().max() <= TOLERANCE
    assert (packed.make(linear).project_new(x) - want).abs().max() <= TOLERANCE
    assert (packed.make(linear).project_gelu(x) - functional.gelu(want)).abs().max() <= TOLERANCE
    for gated in (packed.gate(gates), torchs().gate(gates)):
        assert (gated.multiply(x) - functional.silu(gate) * up).abs().max() <= TOLERANCE


@torch.inference_mode()
def test_layers_of_a_module_are_replaced_wherever_they_are(packed: PackedProducts) -> None:
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.Sequential(torch.nn.GELU(), torch.nn.Linear(12, 4)))
    module.requires_grad_(False)
    x = torch.randn(2, 5, 8)
    want = module(x)
    pack_modules(module, packed)
    assert (module(x) - want).abs().max() <= TOLERANCE
    assert sum(isinstance(one, PackedModule) for one in module.modules()) == 2
    assert not list(module.parameters())  # no weight is held twice


def test_no_more_than_one_weight_is_there_twice(packed: PackedProducts, monkeypatch: pytest.MonkeyPatch) -> None:
    module = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(4))).requires_grad_(False)
    stock = [weakref.ref(one) for one in module]
    num_alive: list[int] = []

    def pack(linear: Linear) -> PackedProduct:
        num_alive.append(sum(one() is not None for one in stock))
        return packed.make(linear)

    pack_modules(module, replace(packed, make=pack))
    assert num_alive == [4, 3, 2, 1]


@torch.inference_mode()
def test_a_module_takes_rows_of_any_layout(packed: PackedProducts) -> None:
    stock = torch.nn.Linear(8, 12).requires_grad_(False)
    x = torch.randn(1, 8, 5).transpose(1, 2)
    assert (PackedModule(stock, packed)(x) - stock(x)).abs().max() <= TOLERANCE


def test_our_own_products_are_for_processors_that_they_were_measured_on(monkeypatch: pytest.MonkeyPatch) -> None:
    if not runs_on(torch.float32, CPU):
        pytest.skip(NO_KERNEL)
    monkeypatch.setattr(cpu_backend, "processor_words", lambda: frozenset({"AuthenticAMD"}))
    assert packed_products(CPU, torch.float32) is NATIVE
    monkeypatch.setattr(cpu_backend, "processor_words", lambda: frozenset({"GenuineIntel"}))
    assert packed_products(CPU, torch.float32) is not NATIVE
    assert packed_products(torch.device("meta"), torch.float32) is None


def test_a_tower_in_bfloat16_has_no_layout_of_onednns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_backend, "runs_on", lambda dtype, device: False)
    assert packed_products_of_tower(CPU, torch.bfloat16) is None
    assert packed_products_of_tower(CPU, torch.float32) is packed_products(CPU, torch.float32)
