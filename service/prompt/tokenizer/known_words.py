"""The token ids of words that texts have had before, so that the library is asked for the others alone.

In: texts. Out: their token ids, those that the library gives for each text as a whole. Knows no template.

A tokenizer cuts a text into words by an expression of its tokenizer.json, and encodes each of them by itself. For ASCII
text the expressions are written here once more for Python's `re`. Of ASCII text normalizers change the case, and BERT's
drops controls.
"""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from unicodedata import normalize

MAX_WORDS = 1 << 16
"""That are kept, some 16 MB of them."""
MAX_WORD_CHARS = 32
MAX_NEW_WORDS = 64
"""That one call learns: a tokenizer's call for a word alone costs as much as for a short text."""
MAX_TEXT_CHARS = 1024
"""Longer texts are the library's: it gives up Python's global lock."""

NFC = partial(normalize, "NFC")

_SUFFIXES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_CUTTING = _SUFFIXES + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_IN_ASCII = _SUFFIXES + r"|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]%s| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CUTTING = {_CUTTING % times: _IN_ASCII % times for times in ("", "{1,3}")}
"""By which Qwen's tokenizers, and others after GPT-4's, cut a text into words, and the same for ASCII text."""

BERT_CUTTING = r"[0-9A-Za-z]+|[^\t\n\r 0-9A-Za-z]"
"""By which `BertPreTokenizer` of the `tokenizers` library cuts ASCII text without other controls."""
CONTROLS = frozenset(map(chr, range(128))) - frozenset(string.printable[: -len("\x0b\x0c")])
"""ASCII that BERT's normalizer drops, or takes for white space."""

Encode = Callable[[Sequence[str]], list[list[int]]]


class WordRule(NamedTuple):
    """The rule by which words of ASCII text are found, where each of them is encoded by itself.

    Attributes:
        cutting: finds them.
        apart: characters of words that are not encoded by themselves.
    """

    cutting: re.Pattern[str]
    apart: frozenset[str]


def word_rule(content: Mapping[str, Any]) -> WordRule | None:
    """The rule of a tokenizer.json's object; None where it cuts otherwise than is known here."""
    added = [NFC(token["content"]) for token in content.get("added_tokens", []) if not token.get("special")]
    firsts = [next((char for char in token if not char.isspace()), "") for token in added]
    apart = frozenset(case for char in firsts for case in (char, char.lower(), char.upper()))
    model, cutter = content["model"], content.get("pre_tokenizer") or {}
    kinds = model.get("type"), (content.get("normalizer") or {}).get("type"), cutter.get("type")
    if model.get("dropout") or "" in apart:
        return None
    if kinds in {("WordPiece", one, "BertPreTokenizer") for one in (None, "BertNormalizer")}:
        return WordRule(re.compile(BERT_CUTTING, re.ASCII), apart | CONTROLS)
    if kinds in {("BPE", one, "Sequence") for one in (None, "NFC")} and (found := _split(cutter)) in CUTTING:
        return WordRule(re.compile(CUTTING[found], re.ASCII), apart)
    return None


def _split(cutter: Mapping[str, Any]) -> str:
    """The expression of a sequence that cuts by one and then spells the words in bytes; else an empty string."""
    match cutter["pretokenizers"]:
        case [
            {"type": "Split", "behavior": "Isolated", "invert": False, "pattern": {"Regex": str(expression)}},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        ]:
            return expression
    return ""


class KnownWords:
    """Token ids of words. Any number of threads may share it.

    Args:
        rule: how words are found.
        encode: gives the ids of texts as the library has them.
    """

    def __init__(self, rule: WordRule, encode: Encode) -> None:
        self._find = rule.cutting.findall
        self._apart = rule.apart
        self._encode = encode
        self._ids: dict[str, list[int]] = {}

    def encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        found = list(map(self._known, texts))
        others = [i for i, ids in enumerate(found) if ids is None]
        if others:
            self._learn([texts[i] for i in others])
            found = [self._known(text) if ids is None else ids for text, ids in zip(texts, found, strict=True)]
            others = [i for i in others if found[i] is None]
            for i, ids in zip(others, self._encode([texts[i] for i in others]), strict=True) if others else ():
                found[i] = ids
        return [ids for ids in found if ids is not None]

    def _known(self, text: str) -> list[int] | None:
        """The ids of a text if all of its words are known."""
        if not text.isascii() or len(text) > MAX_TEXT_CHARS:
            return None
        known, token_ids = self._ids, []
        try:
            for word in self._find(text):
                token_ids += known[word]
        except KeyError:
            return None
        return token_ids

    def _learn(self, texts: Sequence[str]) -> None:
        """Learn some words of texts that have unknown ones."""
        short = [text for text in texts if text.isascii() and len(text) <= MAX_TEXT_CHARS]
        found = dict.fromkeys(word for text in short for word in self._find(text))
        words = [word for word in found if word not in self._ids and self._apart.isdisjoint(word)]
        new = [word for word in words if len(word) <= MAX_WORD_CHARS][:MAX_NEW_WORDS]
        if not new:
            return
        if len(self._ids) + len(new) > MAX_WORDS:
            self._ids.clear()
        self._ids.update(zip(new, self._encode(new), strict=True))
