"""Bounds the number of arrays, objects and members of a JSON text before anything is built from it.

A decoder builds a list before it finds it too long, and a body of a million small lists would block the event loop
meanwhile; counting brackets and commas costs a few milliseconds for the largest body.
"""

import re
from collections.abc import Iterable, Iterator

from schemas.errors import RuleError
from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT

MAX_CONTAINERS = 64 + MAX_INPUTS * (2 + 2 * MAX_PARTS_PER_INPUT)
"""Arrays and objects of a body. Each item of the largest request has itself, its list and two objects for each part."""

MAX_COMMAS = 1 << 20
"""Members of all arrays and objects together: token ids, most of all."""

MAX_UNCOUNTED_BYTES = min(MAX_CONTAINERS, MAX_COMMAS)
"""A shorter text cannot hold too many: each bracket and comma is a byte."""

_SLICE_BYTES = 1 << 18
_ODD_END = re.compile(rb"\\*.?", re.DOTALL)


def check_structure(raw: bytes) -> None:
    """Refuse a body that holds more arrays, objects or members than any request may; it need not be JSON.

    Brackets and commas inside strings are left out only when there are too many altogether.

    Raises:
        RuleError: `too_many_inputs`.
    """
    slices = (raw[start : start + _SLICE_BYTES] for start in range(0, len(raw), _SLICE_BYTES))
    if _excess(slices) is not None and (error := _excess(_outside_strings(raw))) is not None:
        raise error


def _excess(slices: Iterable[bytes]) -> RuleError | None:
    """The error of a text that holds too much; slice by slice, so that other threads get their turn."""
    num_containers = num_commas = 0
    for piece in slices:
        num_containers += piece.count(b"[") + piece.count(b"{")
        num_commas += piece.count(b",")
        if num_containers > MAX_CONTAINERS:
            return _too_many(MAX_CONTAINERS, "arrays and objects")
        if num_commas > MAX_COMMAS:
            return _too_many(MAX_COMMAS, "members of arrays and objects")
    return None


def _outside_strings(raw: bytes) -> Iterator[bytes]:
    """The text without its strings: no slice ends between a backslash and what it escapes."""
    start, is_inside = 0, False
    while start < len(raw):
        end = min(start + _SLICE_BYTES, len(raw))
        if raw[end - 1 : end] == b"\\":
            rest = _ODD_END.match(raw, end)
            end = rest.end() if rest else end
        parts = raw[start:end].replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        yield b"".join(parts[is_inside::2])
        is_inside ^= len(parts) % 2 == 0
        start = end


def _too_many(limit: int, what: str) -> RuleError:
    return RuleError("too_many_inputs", f"the body: expected at most {limit} {what}, got more")
