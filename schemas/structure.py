"""How much a JSON text holds, counted before anything is built from it.

In: the bytes of a body. Out: nothing, or one refusal. A decoder builds a list before it finds it too long, and a body
of a million small lists would hold up everybody else for as long; counting brackets and commas costs a few
milliseconds for the largest body.
"""

import re

from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT
from schemas.rule_error import RuleError

MAX_CONTAINERS = 64 + MAX_INPUTS * (2 + 2 * MAX_PARTS_PER_INPUT)
"""Arrays and objects of a body: the largest request has, for each item, itself, its list, two objects for each part."""

MAX_COMMAS = 1 << 20
"""Members of all arrays and objects together: token ids, most of all."""

_SLICE_BYTES = 1 << 22
_STRING_OR_MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)


def check_structure(raw: bytes) -> None:
    """Refuse a body that holds more arrays, objects or members than any request may.

    Brackets and commas inside of strings are told apart only when there are too many altogether.

    Args:
        raw: the body; it need not be JSON.

    Raises:
        RuleError: `too_many_inputs`.
    """
    if _count(raw, b"[") + _count(raw, b"{") <= MAX_CONTAINERS and _count(raw, b",") <= MAX_COMMAS:
        return
    num_containers = num_commas = 0
    for found in _STRING_OR_MARK.finditer(raw):
        mark = raw[found.start()]
        num_commas += mark == 0x2C
        num_containers += mark in b"[{"
        if num_containers > MAX_CONTAINERS:
            raise _too_many(MAX_CONTAINERS, "arrays and objects")
        if num_commas > MAX_COMMAS:
            raise _too_many(MAX_COMMAS, "members of arrays and objects")


def _count(raw: bytes, mark: bytes) -> int:
    """In slices: other threads get their turn between them."""
    return sum(raw.count(mark, start, start + _SLICE_BYTES) for start in range(0, len(raw), _SLICE_BYTES))


def _too_many(limit: int, what: str) -> RuleError:
    return RuleError("too_many_inputs", f"the body: expected at most {limit} {what}, got more")
