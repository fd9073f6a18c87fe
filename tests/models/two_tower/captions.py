"""Captions of all lengths, for tests that compare vectors."""

CAPTIONS = (
    "a photo of a cat",
    "A Photo of Two CATS, sleeping!",
    "two dogs running on the beach at sunset",
    "ein roter Kreis auf weißem Grund",
    "un chat noir, couché sur un canapé",
    "一张猫的照片",
    "一只狗在沙滩上奔跑",
    "красный круг на белом фоне",
    "e\u0301clair and ﬁ a ligature",
    "  blanks   at both ends and   between  ",
    "tabs\tand\nlines",
    "3 red squares & 12 blue circles (50% of them small)",
    "🦊 fox",
    "it's the dog's bowl; they're late",
    "a",
    "?",
    "x" * 30,
    "a very long caption that goes on about a street with many shops and people who walk by in the rain",
)
LONG = " ".join(CAPTIONS) * 3
"""Longer than any text tower reads."""
