"""Words that are known: the ids of the library for any text, and the library is not asked twice."""

import json
import random
import string
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer

from service.checkpoint.hub import CHECKPOINT
from service.prompt.tokenizer import known_words
from service.prompt.tokenizer.known_words import KnownWords, word_rule
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from tests.models.text.tokenizers import byte_level, unigram, word_piece

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["the", "Cave", "it's", "WE'LL", "'tis", "a", "5", "2026", "x86_64", "--", "[SEP]", "cenote", "Cenotes"]
WORDS += ["<tool>", "tool", "<", ">", "\n", "\r\n", "\t", "  ", " ", "\x00", "\x0b", "\x0c", "\x1c", "\x7f"]
WORDS += ["é", "\u2028", "\uff46"]
TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "byte_level": lambda: byte_level(SPECIALS, None, None),
    "word_piece": lambda: word_piece(SPECIALS, "[CLS]", "[SEP]"),
    "builtin": lambda: Tokenizer.from_file(str(CHECKPOINT / "tokenizer.json")),
}
ADDED = ["<tool>", AddedToken("Cenote"), AddedToken(" §", lstrip=True), AddedToken("it", single_word=True)]


class Library:
    """A tokenizer that remembers what it was asked."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.tokenizer.encode_special_tokens = True
        self.asked: list[str] = []

    def encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        self.asked += texts
        return [one.ids for one in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def known_words(self) -> KnownWords:
        rule = word_rule(json.loads(self.tokenizer.to_str()))
        assert rule is not None
        return KnownWords(rule, self.encode_each)


def drawn(seed: int, number: int) -> Iterable[list[str]]:
    """Groups of texts out of words and of single characters."""
    draw = random.Random(seed)
    for _ in range(number):
        group = []
        for _ in range(draw.randint(1, 8)):
            pieces = draw.choices(WORDS, k=draw.randint(0, 8)) if draw.random() < 0.5 else []
            pieces += draw.choices([chr(i) for i in range(128)] + ["é", " "], k=draw.randint(0, 6))
            group.append("".join(pieces) if draw.random() < 0.5 else " ".join(pieces))
        yield group


@pytest.mark.parametrize("added", [[], ADDED], ids=["plain", "added"])
@pytest.mark.parametrize("name", TOKENIZERS)
def test_ids_are_the_librarys(name: str, added: list[Any]) -> None:
    library = Library(TOKENIZERS[name]())
    library.tokenizer.add_tokens(added)
    words = library.known_words()
    for texts in drawn(7, 1000):
        assert words.encode_each(texts) == library.encode_each(texts)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_library_is_not_asked_for_known_words(name: str) -> None:
    library = Library(TOKENIZERS[name]())
    words = library.known_words()
    whole = words.encode_each(["The cave's pool", "a pool, 3 caves"])
    assert "cave" in {word.strip() for word in library.asked}
    library.asked.clear()
    assert words.encode_each(["The cave's pool", "a pool, 3 caves", "The pool, 3 caves"])[:2] == whole
    assert library.asked == []
    assert words.encode_each(["", "The pool of pools"]) == [[], *library.encode_each(["The pool of pools"])]


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words, "MAX_WORDS", 100)
    library = Library(TOKENIZERS["builtin"]())
    words = library.known_words()
    for i in range(26):
        texts = [a + b * 9 for a in string.ascii_lowercase for b in string.ascii_lowercase[i:]]
        assert words.encode_each(texts) == library.encode_each(texts)
        assert len(words._ids) <= 100
    library.asked.clear()
    words.encode_each(["ab" * 32, "a b" * 400])
    assert library.asked[-2:] == ["ab" * 32, "a b" * 400]  # a long word, a long text
    assert all(len(word) <= 32 for word in words._ids)


def test_threads_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words, "MAX_WORDS", 80)  # they are forgotten all the time
    library = Library(TOKENIZERS["builtin"]())
    words, groups = library.known_words(), list(drawn(9, 400))
    expected = [library.encode_each(texts) for texts in groups]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(words.encode_each, groups)) == expected
    finally:
        sys.setswitchinterval(interval)


def _rule(change: Callable[[dict[str, Any]], object], name: str = "builtin") -> object:
    """The rule of a tokenizer.json that was changed."""
    content: dict[str, Any] = json.loads(TOKENIZERS[name]().to_str())
    change(content)
    return word_rule(content)


def _steps(content: dict[str, Any]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = content["pre_tokenizer"]["pretokenizers"]
    return steps


def test_other_tokenizers_are_left_to_the_library() -> None:
    blank = {"id": 9999, "content": "  ", "special": False}
    assert word_rule(json.loads(unigram([*SPECIALS, "<unk>"], "[CLS]", "[SEP]").to_str())) is None
    assert _rule(lambda one: None) is not None
    assert _rule(lambda one: one["model"].update(dropout=0.1)) is None
    assert _rule(lambda one: one.update(normalizer={"type": "NFKC"})) is None
    assert _rule(lambda one: one.update(normalizer={"type": "Lowercase"}), "word_piece") is None
    assert _rule(lambda one: one.update(pre_tokenizer=None)) is None
    assert _rule(lambda one: _steps(one).reverse()) is None
    assert _rule(lambda one: _steps(one)[0].update(invert=True)) is None
    assert _rule(lambda one: _steps(one)[0].update(pattern={"Regex": r"\w+"})) is None
    assert _rule(lambda one: _steps(one)[1].update(add_prefix_space=True)) is None
    assert _rule(lambda one: one["added_tokens"].append(blank)) is None


@pytest.mark.parametrize("lower_case", [False, True])
def test_a_tokenizer_gives_the_same_ids_for_texts_together_and_alone(tmp_path: Path, lower_case: bool) -> None:
    for name, make in TOKENIZERS.items():
        folder = tmp_path / name
        folder.mkdir()
        make().save(str(folder / "tokenizer.json"))
        tokenizer = PromptTokenizer(folder, lower_case=lower_case)
        for texts in drawn(11, 300):
            assert tokenizer.encode_each(texts) == [tokenizer.encode(text).ids for text in texts]
