"""The torch references against plain float64 numpy, and the order of the epilogue."""

import sys

import numpy as np
import pytest
import torch

from cenote_kernels import OPS, POOL, epilogue, finish, pool, quantize, truncate_normalize
from cenote_kernels.vector_ops import segment_means
from tests.kernels.on_cpu import output, packed, tensors

TOLERANCE = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


@pytest.mark.parametrize("mode", ["last_token", "mean", "cls"])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_pool_equals_numpy(mode: str, dtype: torch.dtype) -> None:
    hidden, cu_seqlens = packed(dtype=dtype)
    rows = hidden.double().numpy()
    bounds = list(zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist(), strict=True))
    want = {
        "last_token": [rows[b - 1] for _, b in bounds],
        "cls": [rows[a] for a, _ in bounds],
        "mean": [rows[a:b].mean(0) for a, b in bounds],
    }[mode]
    np.testing.assert_allclose(pool(hidden, cu_seqlens, mode).numpy(), np.stack(want), atol=1e-6)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_means_in_one_call_are_the_same_means(dtype: torch.dtype) -> None:
    hidden, cu_seqlens = packed(dtype=dtype)
    torch.testing.assert_close(segment_means(hidden, cu_seqlens), pool(hidden, cu_seqlens, "mean"), atol=1e-6, rtol=0)
    hidden[2] = float("nan")
    assert segment_means(hidden, cu_seqlens).isnan().any(-1).tolist() == [False, True, False, False, False]


def test_a_nan_stays_in_its_own_row() -> None:
    hidden, cu_seqlens = packed()
    hidden[2] = float("nan")  # inside the second request
    for mode in ("last_token", "mean", "cls"):
        bad = pool(hidden, cu_seqlens, mode).isnan().any(-1).tolist()
        assert bad == [False, mode == "mean", False, False, False]


def test_truncation_comes_before_normalization() -> None:
    hidden, cu_seqlens = packed()
    rows = tensors(epilogue(hidden, cu_seqlens, [output(16)] * 5))
    got = np.stack([row["float32"].double().numpy() for row in rows])
    raw = hidden[cu_seqlens[1:] - 1].double().numpy()[:, :16]
    np.testing.assert_allclose(got, raw / np.linalg.norm(raw, axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1.0, atol=1e-6)


def test_each_request_gets_what_it_asked_for_and_a_nan_gets_nothing() -> None:
    hidden, cu_seqlens = packed()
    hidden[cu_seqlens[2] - 1] = float("nan")
    wants = [output(64), output(64), output(8, ("int8", "ubinary")), output(16), output(64)]
    rows = tensors(epilogue(hidden, cu_seqlens, wants))
    assert rows[1] is None
    assert [None if row is None else {kind: len(row[kind]) for kind in row} for row in rows] == [
        {"float32": 64}, None, {"int8": 8, "ubinary": 1}, {"float32": 16}, {"float32": 64}
    ]  # fmt: skip
    (alone,) = tensors(epilogue(hidden[:1], torch.tensor([0, 1]), [output(64)]))
    assert torch.equal(rows[0]["float32"], alone["float32"])


def test_each_request_says_whether_it_wants_its_vector_normalized() -> None:
    hidden, cu_seqlens = packed()
    raw = hidden[cu_seqlens[1:] - 1]
    wants = [output(64), output(64, normalize=False), output(16, normalize=False), output(8), output(8)]
    rows = tensors(epilogue(hidden, cu_seqlens, wants))
    lengths = [float(torch.linalg.vector_norm(row["float32"])) for row in rows]
    assert torch.equal(rows[1]["float32"], raw[1])
    assert torch.equal(rows[2]["float32"], raw[2, :16])
    np.testing.assert_allclose([lengths[0], lengths[3], lengths[4]], 1, atol=1e-6)


def test_what_a_format_cannot_hold_fails_the_one_request_that_asked_for_it() -> None:
    hidden, cu_seqlens = packed()
    hidden[cu_seqlens[1:] - 1, 3] = torch.tensor([70_000.0, 70_000, 70_000, 65_504, 3.4e38])
    wants = [
        output(64, ("float16",), normalize=False),
        output(64, ("float32", "float16"), normalize=False),
        output(64, ("float16",)),
        output(64, ("float16",), normalize=False),
        output(64, ("bfloat16",), normalize=False),
    ]
    rows = epilogue(hidden, cu_seqlens, wants)
    assert [row is None for row in rows] == [True, True, False, False, True]
    assert epilogue(hidden, cu_seqlens, [output(3, ("float16",), normalize=False)] * 5)[0] is not None


def test_a_score_of_zero_is_a_score_and_one_that_is_not_finite_is_none() -> None:
    score = output(1, normalize=False)
    zero, nan, negative = tensors(finish(torch.tensor([[0.0], [float("nan")], [-2.5]]), [score] * 3))
    assert nan is None
    assert zero is not None
    assert negative is not None
    assert (zero["float32"].item(), negative["float32"].item()) == (0.0, -2.5)


def test_bits_are_packed_as_cohere_packs_them() -> None:
    rows = torch.tensor([[1.0, -1, 1, -1, 1, -1, 1, -1]])
    assert quantize(rows, "ubinary").tolist() == [[170]]
    assert quantize(rows, "binary").tolist() == [[42]]
    assert quantize(torch.zeros(1, 8), "ubinary").tolist() == [[255]]  # zero counts as one


def test_int8_is_uint8_shifted_and_clips_at_four_sigmas() -> None:
    rows = torch.tensor([[4.0001 / 4, -4 / 4, 0.0, 0.25] + [0.0] * 12])  # 16 dimensions: the range is ±1
    levels = quantize(rows, "uint8")[0, :4].tolist()
    assert levels == [255, 0, 127, 159]
    assert quantize(rows, "int8")[0, :4].tolist() == [level - 128 for level in levels]
    assert quantize(rows * 10, "uint8")[0, :2].tolist() == [255, 0]


def test_a_calibrated_range_is_each_components_own() -> None:
    minimum, maximum = torch.tensor([-0.5, 0.0, -1.0]), torch.tensor([0.5, 0.1, -0.5])
    rows = torch.tensor([[-0.5, 0.0, -1.0], [0.5001, 0.1001, -0.4999], [0.0, 0.05, -0.75], [-0.6, 0.2, 0.0]])
    levels = [[0, 0, 0], [255, 255, 255], [127, 127, 127], [0, 255, 255]]
    assert quantize(rows, "uint8", minimum, maximum).tolist() == levels
    assert quantize(rows, "int8", minimum, maximum).tolist() == [[level - 128 for level in row] for row in levels]
    assert torch.equal(quantize(rows, "float32", minimum, maximum), rows)


def test_ranges_are_for_vectors_of_their_own_length_only() -> None:
    hidden, cu_seqlens = packed()
    ranges = {16: (torch.full((16,), -0.1), torch.full((16,), 0.1))}
    wants = [output(16, ("uint8", "float32"))] * 2 + [output(64, ("uint8", "float32"))] * 3
    for want, row in zip(wants, tensors(epilogue(hidden, cu_seqlens, wants, ranges=ranges)), strict=True):
        own = ranges.get(want.dimensions, (None, None))
        assert torch.equal(row["uint8"], quantize(row["float32"][None], "uint8", *own)[0])
        fixed = quantize(row["float32"][None], "uint8")[0]
        assert torch.equal(row["uint8"], fixed) == (want.dimensions == 64)


def test_quantization_does_not_depend_on_neighbors() -> None:
    rows = truncate_normalize(torch.randn(8, 64, generator=torch.Generator().manual_seed(1)), 64)
    for kind in ("int8", "uint8", "binary", "ubinary", "float16", "bfloat16"):
        alone = torch.cat([quantize(row[None], kind) for row in rows])
        assert torch.equal(quantize(rows, kind), alone)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_each_op_describes_itself_truly(op: object) -> None:
    arguments, again = op.sample(0), op.sample(0)
    assert all(torch.equal(value, again[name]) for name, value in arguments.items() if isinstance(value, torch.Tensor))
    tensors = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    out = op.reference(**arguments)
    lengths = op.check_axes(**{**tensors, "out": out})
    assert set(lengths) <= {axis.name for axis in op.axes}
    assert out.dtype in op.tolerance
    assert (op.kernel is None) == (op.large is None) == (op.bytes_moved is None)
    assert op.bytes_moved is None or op.bytes_moved(**arguments) > out.numel()


def test_axes_that_disagree_are_refused() -> None:
    hidden, cu_seqlens = packed()
    with pytest.raises(ValueError, match="axis hidden is 64 and 3"):
        POOL.check_axes(hidden=hidden, cu_seqlens=cu_seqlens, out=torch.zeros(5, 3))
    with pytest.raises(ValueError, match="expected one of"):
        POOL.check_axes(hidden=hidden.long())


def test_requests_of_several_vectors_get_their_own_and_none_where_one_is_not_valid() -> None:
    raw = torch.randn(6, 8, generator=torch.Generator().manual_seed(2))
    raw[4] = float("nan")
    whole, cut = output(8, normalize=False), output(4, normalize=False)
    first, second, third = tensors(finish(raw, [whole, cut, whole], num_vectors=[1, 3, 2]))
    assert torch.equal(first["float32"], raw[0])
    assert torch.equal(second["float32"].view(3, 4), raw[1:4, :4])
    assert third is None


@pytest.mark.parametrize(("num_rows", "num_vectors"), [(3, None), (5, [1, 3]), (4, [3, 2])])
def test_more_or_fewer_vectors_than_the_requests_have_are_refused(num_rows: int, num_vectors: list[int] | None) -> None:
    with pytest.raises(ValueError, match=f"finish: got {num_rows} vectors"):
        finish(torch.ones(num_rows, 8), [output(8)] * 2, num_vectors=num_vectors)


def test_a_vector_that_is_not_of_unit_length_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, cu_seqlens = torch.ones(2, 8), torch.tensor([0, 1, 2])
    hidden[1] = 0
    unit, raw = output(8), output(8, normalize=False)
    assert [row is None for row in epilogue(hidden, cu_seqlens, [unit, unit])] == [False, True]
    assert [row is None for row in epilogue(hidden, cu_seqlens, [raw, raw])] == [False, True]
    module = sys.modules[epilogue.__module__]
    monkeypatch.setattr(module, "runs_on", lambda *_: False)
    monkeypatch.setattr(module, "truncate_normalize", lambda *args: 1.002 * truncate_normalize(*args))
    assert epilogue(hidden[:1], cu_seqlens[:2], [unit]) == [None]  # what a broken kernel would give
