"""Token pooling: the vectors of a document's tokens in groups that are alike, and the mean of each group.

Groups are Ward's, as scipy's `linkage` and `fcluster(criterion="maxclust")` have them; docs/decisions/hybrid.md says
why they are made here.

Source: Clavié et al. 2024 (arXiv 2409.14683); sentence-transformers 6.2 `HierarchicalTokenPooling`; Müllner 2011 (arXiv
1109.2378), the nearest-neighbor chain.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional


def pool_tokens(vectors: torch.Tensor, factor: float) -> torch.Tensor:
    """The first vector, then the mean of each group of the others, in the order of their first members; of length 1.

    Args:
        vectors: `[num_tokens, dimensions]`, float32, finite; of length 1 but where the model's are not.
        factor: above 1; at most ``max(1, (num_tokens - 1) // factor)`` groups are made, fewer of equal distances.

    Returns:
        `[1 + num_groups, dimensions]`, on the same device; the vectors themselves where there is nothing to join.
    """
    first, others = vectors[:1], vectors[1:].cpu()
    most = max(1, int(len(others) // factor))
    if most < len(others):
        distances = (1 - others @ others.T).clamp_(0, 2).numpy()
        groups = torch.from_numpy(ward_groups(distances, most))
        counts = torch.bincount(groups)
        sums = torch.zeros(len(counts), others.shape[1]).index_add_(0, groups, others)
        vectors = torch.cat([first, (sums / counts[:, None]).to(first.device)])
    return functional.normalize(vectors, dim=-1)


def ward_groups(distances: NDArray[np.floating], most: int) -> NDArray[np.int64]:
    """The group of each item, `[num_items]`, numbered by their first members.

    All pairs are joined whose distance is at most the least by which there are no more than `most` groups.

    Args:
        distances: `[num_items, num_items]`, symmetric.
        most: below `num_items`, at least 1.
    """
    squares = distances.astype(np.float64)
    squares *= squares
    merges, heights = _merges(squares)
    highest = np.partition(heights, len(distances) - most - 1)[len(distances) - most - 1]
    parents = list(range(len(distances)))
    for (gone, kept), height in zip(merges, heights, strict=True):
        if height <= highest:
            parents[_root(parents, gone)] = _root(parents, kept)
    roots = [_root(parents, item) for item in range(len(distances))]
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(root, len(numbers)) for root in roots])


def _merges(squares: NDArray[np.float64]) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """Return the merges of items with the squares of their distances; `squares` is overwritten.

    A chain goes from each item to its nearest until two are each other's; where two are equally near, back, else to the
    first, as scipy does. Ward's distances never let a merge change what stands below it in the chain.
    """
    num_items = len(squares)
    np.fill_diagonal(squares, np.inf)  # so are those of an item that is gone
    sizes, gone = np.ones(num_items), np.zeros(num_items, bool)
    merges: list[tuple[int, int]] = []
    heights, chain = np.zeros(num_items - 1), list[int]()
    for step in range(num_items - 1):
        if not chain:
            chain.append(int(gone.argmin()))
        while True:
            last = chain[-1]
            nearest = int(squares[last].argmin())
            if len(chain) > 1 and squares[last, nearest] >= squares[last, chain[-2]]:
                break
            chain.append(nearest)
        low, high = sorted((chain.pop(), chain.pop()))
        height, joined = squares[low, high], sizes[low] + sizes[high]
        row = (sizes + sizes[low]) * squares[low] + (sizes + sizes[high]) * squares[high] - sizes * height
        row /= sizes + joined
        squares[low], squares[:, low], gone[low] = np.inf, np.inf, True
        row[low] = np.inf
        squares[high], squares[:, high], sizes[high] = row, row, joined
        merges.append((low, high))
        heights[step] = height
    return merges, heights


def _root(parents: list[int], item: int) -> int:
    while parents[item] != item:
        parents[item] = parents[parents[item]]
        item = parents[item]
    return item
