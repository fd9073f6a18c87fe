"""Texts of all lengths and scripts, for tests that compare vectors."""

SENTENCES = (
    "A natural pool in the limestone.",
    "The quick brown fox jumps over the lazy dog.",
    "How do I reset my password?",
    "Résumé, naïve, coöperation: accents of every kind!",
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "Быстрая коричневая лиса перепрыгивает через ленивую собаку.",
    "快速的棕色狐狸跳过懒狗。",
    "素早い茶色の狐がのろまな犬を飛び越える",
    "الثعلب البني السريع يقفز فوق الكلب الكسول",
    "🦊🐕 emoji, and a family: 👨‍👩‍👧‍👦.",
    "x = [i ** 2 for i in range(10)]  # a line of code",
    "  blanks   at both ends and   between  ",
    "tabs\tand\nlines\r\nof several kinds",
    "e\u0301 decomposed, and ﬁ a ligature, \uff46\uff55\uff4c\uff4c width, ½ and ²",
    "https://example.org/a/very/long/path?with=a&query=string#and-a-fragment",
    "1234567890 12.5 % 1,000,000 €",
    "UPPER CASE AND lower case and MiXeD",
    "zero\u200bwidth and soft\u00adhyphen",
    "unbreakablewordthatneverendsandhasnopiecesofitsownbutletters" * 2,
    "a",
    "?",
    "I.",
)
"""Each below 64 tokens of any small tokenizer but for the long word."""

PAIRS = tuple(f"{SENTENCES[i]} {SENTENCES[-1 - i]}" for i in range(len(SENTENCES)))
LONG = tuple(
    " ".join(SENTENCES[k : k + n]) for k, n in ((0, 5), (3, 7), (1, 4), (6, 6), (2, 3), (0, 9), (5, 3), (9, 2))
)
TEXTS = (*SENTENCES, *PAIRS, *LONG)
"""52 texts, from 1 character to some hundred words."""
