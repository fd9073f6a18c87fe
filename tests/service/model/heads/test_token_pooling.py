"""Token pooling makes scipy's groups, and the vectors of sentence-transformers, in an order of its own."""

import numpy as np
import pytest
import torch
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling
from torch.nn.functional import normalize

from service.model.heads.token_pooling import pool_tokens, ward_groups


def drawn(num_tokens: int, seed: int) -> torch.Tensor:
    """Vectors that are alike in small groups, as a text's are."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.randn(max(2, num_tokens // 5), 24, generator=generator)
    picked = centers[torch.randint(len(centers), (num_tokens,), generator=generator)]
    return normalize(picked + 0.5 * torch.randn(num_tokens, 24, generator=generator), dim=-1)


def together(groups: np.ndarray) -> np.ndarray:
    """True for pairs in one group, `[num_items, num_items]`."""
    return groups[:, None] == groups[None]


def scipys(distances: np.ndarray, most: int) -> np.ndarray:
    tree = hierarchy.linkage(squareform(distances, checks=False), "ward")
    groups: np.ndarray = hierarchy.fcluster(tree, most, "maxclust")
    return groups


@pytest.mark.parametrize("num_items", [2, 3, 10, 61, 180, 400])
def test_groups_are_scipys(num_items: int) -> None:
    vectors = drawn(num_items, num_items)
    distances = (1 - vectors @ vectors.T).clamp_(0, 2).numpy()
    for most in {1, num_items // 3 or 1, num_items // 2, num_items - 1}:
        groups = ward_groups(distances, most)
        assert np.array_equal(together(groups), together(scipys(distances, most)))
        assert len(set(groups)) == most
        firsts = [int(np.flatnonzero(groups == number)[0]) for number in range(most)]
        assert firsts == sorted(firsts)


@pytest.mark.parametrize("seed", range(20))
def test_copies_are_never_parted(seed: int) -> None:
    """Copies of a few vectors at right angles: fewer groups are left than asked for, by scipy's cut, too."""
    kinds = np.random.default_rng(seed).integers(0, 6, 25)
    distances = (kinds[:, None] != kinds[None]).astype(np.float32)
    for most in range(len(set(kinds)), 25):
        assert np.array_equal(together(ward_groups(distances, most)), together(kinds))
        assert np.array_equal(together(scipys(distances, most)), together(kinds))
    for most in range(1, len(set(kinds))):  # which of equal distances comes first is a matter of rounding
        groups = ward_groups(distances, most)
        assert len(set(groups)) <= most
        assert (together(groups) >= together(kinds)).all()


@pytest.mark.parametrize("factor", [1.5, 2, 3, 7.25, 1000])
@pytest.mark.parametrize("num_tokens", [1, 2, 3, 12, 99, 300])
@pytest.mark.parametrize("is_unit", [True, False])
def test_vectors_are_the_references(factor: float, num_tokens: int, is_unit: bool) -> None:
    vectors = drawn(num_tokens, 3) * (1 if is_unit else 2.5)
    want = HierarchicalTokenPooling(factor).pool_one(vectors)
    found = pool_tokens(vectors, factor)
    assert found.shape == want.shape
    assert torch.equal(found[0], want[0]) or torch.allclose(found[0], want[0], atol=1e-6)
    nearest = (found @ want.T).argmax(dim=1)
    assert sorted(nearest.tolist()) == list(range(len(want)))
    assert (found - want[nearest]).abs().max() <= 1e-5
