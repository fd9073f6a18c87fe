"""Real tensors in pages: the same bits come back, and no more memory is taken than may be, however it was cut up."""

import pytest
import torch

from service.engine.shared_tiers.host_pages import HostPages

CPU = torch.device("cpu")
PAGE = 1 << 10


def features(seed: int, num_tokens: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(num_tokens, 24, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("num_tokens", [1, 10, 11, 500])
def test_the_same_bits_come_back(dtype: torch.dtype, num_tokens: int) -> None:
    pages = HostPages(1 << 17, CPU, page_bytes=PAGE)
    want = features(1, num_tokens, dtype)
    stored = pages.store(want)
    assert stored is not None
    back = pages.load(stored)
    assert back.dtype == dtype
    assert torch.equal(back, want)
    assert pages.num_bytes_of(want.nbytes) == len(stored.pages) * PAGE >= want.nbytes


def test_what_is_stored_does_not_follow_the_original() -> None:
    pages = HostPages(1 << 17, CPU, page_bytes=PAGE)
    original = features(1, 10)
    want, stored = original.clone(), pages.store(original)
    original.zero_()
    assert stored is not None
    assert torch.equal(pages.load(stored), want)


def test_pages_that_lie_apart_serve_as_well_and_memory_is_taken_once() -> None:
    pages = HostPages(1 << 16, CPU, page_bytes=PAGE)
    kept = {number: pages.store(features(number, 30)) for number in range(20)}
    assert pages.num_taken_bytes == pages.max_bytes == 1 << 16
    for number in range(0, 20, 2):
        stored = kept.pop(number)
        assert stored is not None
        pages.free(stored)
    large = pages.store(features(99, 300))
    assert large is not None
    assert len({page + 1 for page in large.pages} - set(large.pages)) > 1  # several stretches
    assert torch.equal(pages.load(large), features(99, 300))
    for number, stored in kept.items():
        assert stored is not None
        assert torch.equal(pages.load(stored), features(number, 30))
    assert pages.num_taken_bytes == 1 << 16


def test_what_does_not_fit_is_refused_and_takes_nothing() -> None:
    pages = HostPages(1 << 14, CPU, page_bytes=PAGE)
    assert pages.store(features(1, 300)) is None
    assert pages.store(features(1, 150)) is not None


@pytest.mark.parametrize("max_bytes", [0, 100, PAGE - 1, (1 << 20) + 12345, 3 << 19])
def test_never_more_than_the_cap_is_taken_and_one_below_a_page_keeps_nothing(max_bytes: int) -> None:
    pages = HostPages(max_bytes, CPU, page_bytes=PAGE)
    while pages.store(features(1, 100 if max_bytes > PAGE else 1)) is not None:
        pass
    least_bytes = max_bytes / 2 if max_bytes > PAGE else 0
    assert least_bytes <= pages.num_taken_bytes == pages.max_bytes <= max_bytes
    assert (pages.max_bytes == 0) is (max_bytes < PAGE)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_pinned_pages_give_the_same_bits_to_a_device_and_back() -> None:
    device = torch.device("cuda")
    pages = HostPages(128 << 20, device)
    wanted = [torch.randn(1280, 8192, device=device, dtype=torch.bfloat16) for _ in range(5)]
    for _ in range(3):
        stored = [pages.store(one) for one in wanted]
        for one, copy in zip(wanted, stored, strict=True):
            assert copy is not None
            assert torch.equal(pages.load(copy), one)
            pages.free(copy)
    assert pages.num_taken_bytes == 128 << 20
    assert pages._chunks[0].is_pinned()
