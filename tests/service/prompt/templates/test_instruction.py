"""Completion of an instruction: punctuation, and the default."""

import pytest

from service.prompt.templates.chatml import punctuate

DEFAULT = "Represent the user's input."


@pytest.mark.parametrize(
    ("written", "rendered"),
    [
        ("", DEFAULT),
        (" \n\t ", DEFAULT),
        ("Find images", "Find images."),
        ("  find? ", "find?"),
        ("Top 5", "Top 5."),
        ("C++", "C++."),
        ("画像を探す。", "画像を探す。"),
        ("done…", "done…"),
        ("(a)", "(a)"),
        ("price in €", "price in €."),
        ("smile 🙂", "smile 🙂."),
        ("Find.", "Find."),
        ("a\nb", "a\nb."),
    ],
)
def test_an_instruction_ends_with_punctuation_and_an_empty_one_is_the_default(written: str, rendered: str) -> None:
    assert punctuate(written, DEFAULT) == rendered
