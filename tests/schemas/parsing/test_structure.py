"""Too many arrays, objects and members are refused before they are built; those inside strings do not count."""

import json
import random

import pytest

from schemas.errors import RuleError
from schemas.limits import MAX_INPUTS, MAX_PARTS_PER_INPUT
from schemas.parsing import structure
from schemas.parsing.structure import MAX_COMMAS, MAX_CONTAINERS, check_structure

LISTS = b"[" + b",".join([b"[]"] * 1_000_000) + b"]"
NUMBERS = b"[" + b",".join([b"1"] * 2_000_000) + b"]"


@pytest.mark.parametrize("raw", [LISTS, NUMBERS, b"[" * 1_000_000, b'"",' * 1_500_000])
def test_too_many_members_are_refused(raw: bytes) -> None:
    with pytest.raises(RuleError) as caught:
        check_structure(raw)
    assert caught.value.code == "too_many_inputs"


@pytest.mark.parametrize("text", ["[{," * 1_000_000, '"[' * 1_000_000, "\\" * 999_999 + '",' * 1_500_000])
def test_marks_inside_of_a_text_do_not_count(text: str) -> None:
    check_structure(json.dumps({"input": text}).encode())


def test_the_largest_request_that_the_schema_allows_passes() -> None:
    part = {"type": "image_url", "image_url": {"url": "a"}}
    items = [{"content": [part] * MAX_PARTS_PER_INPUT}] * MAX_INPUTS
    raw = json.dumps({"inputs": items}).encode()
    assert raw.count(b"{") + raw.count(b"[") <= MAX_CONTAINERS
    check_structure(raw)
    check_structure(b"[" + b"1," * MAX_COMMAS + b"1]")


def counted(raw: bytes) -> bytes:
    """The text outside strings, character by character."""
    outside, is_inside, is_escaped = bytearray(), False, False
    for byte in raw:
        if is_inside:
            is_escaped, is_inside = not is_escaped and byte == 0x5C, is_escaped or byte != 0x22
        elif byte == 0x22:
            is_inside = True
        else:
            outside.append(byte)
    return bytes(outside)


@pytest.mark.parametrize("slice_bytes", [1, 2, 3, 7, 64])
def test_strings_are_recognized_wherever_a_slice_ends(slice_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "_SLICE_BYTES", slice_bytes)
    dice = random.Random(slice_bytes)
    for _ in range(500):
        text = "".join(dice.choice('\\\\\\"[,x') for _ in range(dice.randrange(40)))
        raw = json.dumps([text, dice.random(), text], separators=(",", ":")).encode()
        assert b"".join(structure._outside_strings(raw)) == counted(raw)
