"""The bound of a composed text's length never exceeds it, and is never far below."""

import random
import unicodedata
from typing import Literal

import pytest

from service.prompt.tokenizer.text_bound import SLICE_CHARS, least_bytes

ALPHABETS = {
    "plain": "abc ",
    "composed": "aé字한",
    "hangul letters": unicodedata.normalize("NFD", "각낙갂"),
    "marks": "aeio\u0301\u0323\u0308\u0304",
    "marks alone": "\u0301\u0323",
    "everything": "a \u0301\u0323한ᄀ\u1161\u11a8字\U0001f600\u03b1\u0313\u0300\u0345",
}


@pytest.mark.parametrize("name", ALPHABETS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_it_is_a_lower_bound_and_a_close_one(name: str, side: Literal["left", "right"]) -> None:
    dice = random.Random(name)
    for num_chars in (0, 1, SLICE_CHARS, SLICE_CHARS + 1, 10 * SLICE_CHARS + 7):
        text = "".join(dice.choices(ALPHABETS[name], k=num_chars))
        true = len(unicodedata.normalize("NFC", text).encode())
        num_bytes, num_seen = least_bytes(text, 1 << 40, side, composes=True)
        assert num_seen == num_chars
        assert true * 0.9 - 24 <= num_bytes <= true


def test_it_stops_when_it_is_enough() -> None:
    assert least_bytes("\u0301\u0323" * 10_000_000, 5_000, "right", composes=True)[1] <= 4 * SLICE_CHARS
