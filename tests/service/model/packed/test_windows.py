"""A window in blocks is the window with a mask over everything; whatever the length, the heads and the window."""

import pytest
import torch

from service.model.packed.attention import BLOCK_TOKENS, AttentionWindow, attend
from service.model.packed.segments import Group

pytestmark = pytest.mark.usefixtures("attention_of_cpu")
HEADS, KV_HEADS, HEAD_DIM, SCALING = 4, 2, 16, 0.2


def plain(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Attention by its formula, one prompt `[num_tokens, heads, head_dim]`."""
    k, v = (tensor.repeat_interleave(HEADS // KV_HEADS, dim=1) for tensor in (k, v))
    scores = torch.einsum("ihd,jhd->hij", q, k) * SCALING
    weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
    return torch.einsum("hij,jhd->ihd", weights, v)


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("window", [None, 1, 2, 33, 700])
@pytest.mark.parametrize("num_tokens", [1, 2, 33, 34, BLOCK_TOKENS, BLOCK_TOKENS + 1, 2 * BLOCK_TOKENS + 77])
def test_a_token_attends_to_its_window(is_causal: bool, window: int | None, num_tokens: int) -> None:
    generator = torch.Generator().manual_seed(num_tokens)
    heads = (HEADS, KV_HEADS, KV_HEADS)
    q, k, v = (torch.randn(2 * num_tokens, number, HEAD_DIM, generator=generator) for number in heads)
    groups = [Group(0, 0, 2 * num_tokens, 2, num_tokens, num_tokens)]
    out = attend(q, k, v, groups, SCALING, torch.empty_like(q), AttentionWindow(is_causal, window))
    distance = torch.arange(num_tokens)[:, None] - torch.arange(num_tokens)
    seen = (distance.abs() < (window or num_tokens)) & ((distance >= 0) | (not is_causal))
    want = torch.cat(
        [plain(*(t[part] for t in (q, k, v)), seen) for part in (slice(num_tokens), slice(num_tokens, None))]
    )
    assert (out - want).abs().max() <= 1e-5


def test_windows_have_the_form_of_kernels() -> None:
    assert [
        window.sides()
        for window in (AttentionWindow(), AttentionWindow(False), AttentionWindow(True, 5), AttentionWindow(False, 5))
    ] == [(-1, 0), (-1, -1), (4, 0), (4, 4)]
