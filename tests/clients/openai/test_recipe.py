"""docs/recipes/small-vectors.md as it is printed, and what it claims, in its own numbers."""

from pathlib import Path

import numpy as np

from tests.clients.plain import Plain
from tests.recipe import run


def test_a_second_search_brings_back_what_bits_lose(plain: Plain, tmp_path: Path) -> None:
    names = run("small-vectors.md", plain.url, tmp_path)
    assert names["pages"]["ubinary"].nbytes == names["pages"]["float"].nbytes // 8  # numpy reads both in 8 bytes
    exact = names["exact"]

    def kept(found: np.ndarray) -> float:
        return float(np.mean([len(set(row) & set(wanted)) / 10 for row, wanted in zip(found, exact, strict=True)]))

    def first(found: np.ndarray) -> float:
        return float(np.mean(found[:, 0] == np.arange(len(found))))

    assert first(exact) >= 0.99
    once, twice = names["by_bits"][:, :10], names["rescored"](names["by_bits"])
    assert kept(once) < 0.8 < 0.9 <= kept(twice)
    assert first(twice) >= 0.99
    few, few_twice = names["by_few_bits"][:, :10], names["rescored"](names["by_few_bits"])
    assert kept(few) < kept(few_twice) - 0.2
    assert first(few) < first(few_twice)
