"""The page's arithmetic, in the browser, against numpy, scipy and the kernels' reference."""

import ast
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from cenote_kernels.vector_ops import quantize, truncate_normalize
from tests.conftest import LiveServer
from tests.playground.conftest import Visitor
from tests.playground.truth import bit_cosines, cosines, principal_components
from tests.playground.visit import Visit

RANDOM = np.random.default_rng(5)
ROWS = RANDOM.normal(size=(12, 64)).astype(np.float32)
LISTS = "rows.map(row => Float32Array.from(row))"


@pytest.fixture(scope="module")
def visit(visitor: Visitor, served: LiveServer) -> Iterator[Visit]:
    """One for all: modules that hold nothing from one call to the next."""
    with visitor(served) as visit:
        yield visit


def test_vectors_are_cut_and_scaled_as_the_kernels_do(visit: Visit) -> None:
    code = f"(m, rows, size) => {LISTS}.map(row => [...m.shortened(row, size)])"
    for size in (8, 24, 64):
        ours = np.array(visit.run_module("vectors.js", code, ROWS.tolist(), size))
        assert np.abs(ours - truncate_normalize(torch.from_numpy(ROWS), size).numpy()).max() < 1e-7


def test_bits_are_those_of_the_kernels_zeros_too(visit: Visit) -> None:
    rows = ROWS.copy()
    rows[0, :5] = [0.0, -0.0, 1e-30, -1e-30, 0.0]
    ours = visit.run_module("vectors.js", f"(m, rows) => {LISTS}.map(row => [...m.signBits(row)])", rows.tolist())
    assert np.array_equal(np.array(ours), quantize(torch.from_numpy(rows), "ubinary").numpy())


def test_cosines_of_floats_integers_and_bits(visit: Visit) -> None:
    whole = f"(m, rows) => [...m.cosines({LISTS}).values]"
    ours = np.array(visit.run_module("similarity.js", whole, ROWS.tolist())).reshape(12, 12)
    assert np.abs(ours - cosines(ROWS)).max() < 1e-12
    small = RANDOM.integers(-128, 128, (7, 33))
    code = "(m, rows) => [...m.cosines(rows.map(row => Int8Array.from(row))).values]"
    ours = np.array(visit.run_module("similarity.js", code, small.tolist())).reshape(7, 7)
    assert np.abs(ours - cosines(small)).max() < 1e-12
    packed = RANDOM.integers(0, 256, (7, 9))
    code = "(m, rows) => [...m.bitCosines(rows.map(row => Uint8Array.from(row))).values]"
    ours = np.array(visit.run_module("similarity.js", code, packed.tolist())).reshape(7, 7)
    assert np.abs(ours - bit_cosines(packed)).max() < 1e-12


@pytest.mark.parametrize("levels", [3, 1000])
def test_kendalls_tau_is_scipys_with_ties_and_without(visit: Visit, levels: int) -> None:
    for _ in range(5):
        x, y = RANDOM.integers(0, levels, (2, 30)).tolist()
        ours = visit.run_module("ranking.js", "(m, x, y) => m.kendallTau(x, y)", x, y)
        assert ours == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)
    assert visit.run_module("ranking.js", "(m, x, y) => m.kendallTau(x, y)", [1, 1], [1, 2]) == 0


@pytest.mark.parametrize("num_rows", [1, 2, 3, 40, 120])
def test_classical_scaling_is_principal_components(visit: Visit, num_rows: int) -> None:
    rows = RANDOM.normal(size=(num_rows, 16)) * np.geomspace(4, 1, 16)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    values = cosines(rows)
    code = "(m, size, values) => m.scaled({ size, values: Float64Array.from(values) })"
    found = visit.run_module("scaling.js", code, num_rows, values.ravel().tolist())
    ours = np.array(found["points"])
    theirs, share = principal_components(rows)
    if num_rows < 3:
        theirs = np.pad(theirs, ((0, 0), (0, 2 - theirs.shape[1])))
    else:
        assert found["share"] == pytest.approx(share, abs=1e-9)
    signs = np.sign((ours * theirs).sum(0) + 1e-300)
    assert np.abs(ours * signs - theirs).max() < 1e-7


def test_a_turned_map_is_turned_back(visit: Visit) -> None:
    points = RANDOM.normal(size=(9, 2))
    turned = points * [-1, 1]
    ours = visit.run_module("scaling.js", "(m, a, b) => m.aligned(a, b)", turned.tolist(), points.tolist())
    assert np.array_equal(np.array(ours), points)


def test_python_literals_are_what_they_stand_for(visit: Visit) -> None:
    value = {
        "a": [None, True, False, 1, -2.5, 1e-7, "é\"'\\\n\t\u2028🎉", "x" * 200],
        "b": {"nested": [{"long": ["word"] * 40}], "empty": [{}, []]},
    }
    written = visit.run_module("snippets.js", "(m, value) => m.pythonLiteral(value)", value)
    assert ast.literal_eval(written) == value
    assert max(len(line) for line in written.splitlines() if "xxx" not in line) <= 120


def test_which_items_go_under_which_instruction(visit: Visit) -> None:
    image = {"id": 1, "name": "a", "image": "data:", "text": ""}
    text = {"id": 2, "name": "text", "image": None, "text": "b"}
    code = "(m, items, names, once) => m.planAsks(items, names, once).map(a => [a.instruction, a.items.map(i => i.id)])"

    def plan(items: list[object], names: list[str], once: bool) -> object:
        return visit.run_module("requests.js", code, items, names, once)

    both = [image, text]
    assert plan(both, ["", " "], True) == [[None, [1, 2]]]
    assert plan(both, ["x", "y", "x"], True) == [["x", [1]], ["y", [1]], [None, [2]]]
    assert plan(both, ["x"], False) == [["x", [1, 2]]]
    assert plan([text], ["x"], True) == [["x", [2]]]
    assert plan([], ["x"], True) == []
