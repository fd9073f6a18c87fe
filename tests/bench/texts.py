"""Texts of chosen lengths in tokens, from a seed: English words as Python's own help has them."""

import math
import random
import re
from pathlib import Path

from tokenizers import Tokenizer

SHORTEST, LONGEST = 16, 512
"""Tokens of the mixed texts, before the template's own."""


class TextMaker:
    """Makes texts, no two alike: a server may answer a repeated one without work.

    Args:
        folder: of the checkpoint whose tokens are counted.
        seed: of everything that is drawn.
    """

    def __init__(self, folder: Path, seed: int = 1) -> None:
        from pydoc_data.topics import topics

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._words = sorted(set(re.findall(r"[a-z]{2,}", " ".join(topics.values()))))
        self._dice = random.Random(seed)
        self._made: set[str] = set()

    def text(self, num_tokens: int) -> str:
        """A text of that many tokens."""
        while (text := self._drawn(num_tokens)) in self._made:
            pass
        self._made.add(text)
        return text

    def _drawn(self, num_tokens: int) -> str:
        words = " ".join(self._dice.choices(self._words, k=num_tokens))
        _, end = self._tokenizer.encode(words, add_special_tokens=False).offsets[num_tokens - 1]
        return words[:end]

    def texts(self, num: int, num_tokens: int) -> list[str]:
        """Texts of one length."""
        return [self.text(num_tokens) for _ in range(num)]

    def mixed(self, num: int, longest: int = LONGEST) -> list[str]:
        """Texts of 16 tokens up to the longest, log-uniform: most are short, most tokens are in the long ones."""
        low, high = math.log(SHORTEST), math.log(longest)
        return [self.text(round(math.exp(self._dice.uniform(low, high)))) for _ in range(num)]
