"""Updates: which optimizer moves which weights, and what stays as it is."""

from typing import Any

import torch

from cenote_builtin.training.updates import Updates

RATE = 1e-2


def one_step(*, frozen: bool = False) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Distances by which one update moves a matrix by Muon, one by AdamW, and a vector."""
    torch.manual_seed(1)
    model: Any = torch.nn.Sequential(torch.nn.Linear(24, 16, bias=False), torch.nn.Linear(16, 24))
    model[0].requires_grad_(requires_grad=not frozen)
    before = [weight.detach().clone() for weight in model.parameters()]
    updates = Updates(model, [], RATE, lambda step: 1.0, by_muon=[model[0].weight])
    updates.descend(model(torch.randn(64, 24)).square().sum())
    first, second, bias = (new.detach() - old for new, old in zip(model.parameters(), before, strict=True))
    return first, second, bias


def test_muon_moves_a_matrix_by_about_as_much_in_all_directions() -> None:
    by_muon, by_adam, bias = one_step()
    spread = torch.linalg.svdvals(by_muon)
    assert spread.max() < 2 * spread.min()
    steep = torch.linalg.svdvals(by_adam)
    assert steep.max() > 2 * steep.min()
    assert 0.05 * RATE < by_muon.square().mean().sqrt() < RATE  # the size of AdamW's updates, about
    torch.testing.assert_close(bias.abs(), torch.full_like(bias, RATE), rtol=1e-2, atol=0)


def test_what_needs_no_gradient_stays() -> None:
    by_muon, by_adam, _ = one_step(frozen=True)
    assert not by_muon.any()
    assert by_adam.any()
