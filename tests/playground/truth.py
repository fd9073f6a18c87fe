"""The same figures by numpy and scipy, from vectors that the server gives."""

import numpy as np
from scipy.stats import kendalltau


def cosines(vectors: np.ndarray) -> np.ndarray:
    """`[rows, rows]`, of `[rows, dimensions]`."""
    rows = vectors.astype(np.float64)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows @ rows.T


def bit_cosines(packed: np.ndarray) -> np.ndarray:
    """Of uint8 `[rows, bytes]`: each bit is plus or minus one. Whole numbers, so that ties stay ties."""
    signs = np.unpackbits(packed.astype(np.uint8), axis=1).astype(np.int64) * 2 - 1
    return signs @ signs.T / signs.shape[1]


def kept(truth: np.ndarray, cheap: np.ndarray) -> tuple[float, float, float]:
    """Nearest neighbor kept, recall at k, and mean Kendall tau-b, each over all rows."""
    size = len(truth)
    k = max(1, min(5, (size - 1) // 2))
    nearest, recall, tau = [], [], []
    for row in range(size):
        others = np.delete(np.arange(size), row)
        was = others[np.argsort(-truth[row, others], kind="stable")]
        is_ = others[np.argsort(-cheap[row, others], kind="stable")]
        nearest.append(was[0] == is_[0])
        recall.append(len(set(was[:k]) & set(is_[:k])) / k)
        tau.append(kendalltau(truth[row, others], cheap[row, others]).statistic)
    return float(np.mean(nearest)), float(np.mean(recall)), float(np.mean(tau))


def principal_components(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Coordinates on the first two, and the part of the spread that they hold."""
    centered = vectors - vectors.mean(0)
    u, s, _ = np.linalg.svd(centered, full_matrices=False)
    spread = float((s**2).sum())
    return u[:, :2] * s[:2], float((s[:2] ** 2).sum()) / spread if spread else 1.0
