"""Lines are the same however the body comes, and what is held of one has a bound."""

import random
from itertools import pairwise

import pytest

from service.http.stream.lines import InputLine, LineSplitter

BODY = b'{"a":1}\n\n  \r\n{"b":2}\r\nlonger than ten\nshort\n\nlast'
LINES = [(0, b'{"a":1}'), (3, b'{"b":2}\r'), (4, b""), (5, b"short"), (7, b"last")]


def split(pieces: list[bytes], max_bytes: int = 10) -> list[tuple[int, bytes | None]]:
    splitter = LineSplitter(max_bytes)
    lines: list[InputLine | None] = []
    for piece in pieces:
        lines += splitter.feed(piece)
        assert splitter.num_held <= max_bytes
    lines += splitter.finish()
    assert splitter.num_lines == 8
    return [(line.index, line.raw) for line in lines if line is not None]


def test_blank_lines_count_and_are_passed_over() -> None:
    assert split([BODY]) == LINES


def test_pieces_of_one_byte_give_the_same_lines() -> None:
    assert split([BODY[i : i + 1] for i in range(len(BODY))]) == LINES


@pytest.mark.parametrize("seed", range(20))
def test_any_other_pieces_give_the_same_lines(seed: int) -> None:
    cuts = [0, *sorted(random.Random(seed).sample(range(1, len(BODY)), 6)), len(BODY)]
    assert split([BODY[a:b] for a, b in pairwise(cuts)]) == LINES


def test_a_line_that_is_too_long_is_refused_before_it_ends() -> None:
    splitter = LineSplitter(10)
    assert list(splitter.feed(b"01234567890")) == [InputLine(0, b"")]
    assert (splitter.num_lines, splitter.num_held) == (1, 0)
    assert list(splitter.feed(b"more\n{}\n")) == [None, InputLine(1, b"{}")]


def test_a_line_that_is_dropped_counts_as_read_and_its_rest_is_passed_over() -> None:
    splitter = LineSplitter(10)
    assert list(splitter.feed(b"0123")) == []
    assert (splitter.begun.index, splitter.begun.num_bytes, splitter.begun.is_inside) == (0, 4, True)
    splitter.drop()
    assert (splitter.num_lines, splitter.num_held, splitter.begun.is_inside) == (1, 0, True)
    assert list(splitter.feed(b"456\n{}")) == [None]
    assert list(splitter.finish()) == [InputLine(1, b"{}")]
