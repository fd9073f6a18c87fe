"""Rows in one piece are the rows that there were."""

import pytest
import torch

from cenote_kernels import WholeRows, finish
from tests.kernels.on_cpu import output


def test_rows_are_cut_out_as_they_were_put_together() -> None:
    rows = WholeRows({"int8": memoryview(b"aabbcc"), "ubinary": memoryview(b"xyz")}, 3)
    assert len(rows) == 3
    assert [{kind: bytes(row) for kind, row in one.items()} for one in rows] == [
        {"int8": b"aa", "ubinary": b"x"},
        {"int8": b"bb", "ubinary": b"y"},
        {"int8": b"cc", "ubinary": b"z"},
    ]
    assert bytes(rows[-1]["int8"]) == b"cc"
    assert [bytes(row["int8"]) for row in rows[1:]] == [b"bb", b"cc"]
    with pytest.raises(IndexError):
        rows[3]


def test_who_wants_the_same_and_has_it_is_in_one_piece() -> None:
    raw = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    alike = finish(raw, [output(16)] * 4)
    assert isinstance(alike, WholeRows)
    alone = [finish(raw[place : place + 1], [output(16)])[0] for place in range(4)]
    assert [dict(row) for row in alike] == alone
    assert not isinstance(finish(raw, [output(16), output(16), output(8), output(16)]), WholeRows)
    raw[2] = float("nan")
    assert [row is None for row in finish(raw, [output(16)] * 4)] == [False, False, True, False]
