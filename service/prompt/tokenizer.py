"""A checkpoint's tokenizer, with the client's text kept apart from the template's special tokens.

In: a folder with tokenizer.json; later, texts. Out: token ids.
Knows no template: which special token stands where is the profile's layout. Nothing is changed after the constructor,
so one instance serves any number of threads.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tokenizers import Encoding, Tokenizer, normalizers

from service.prompt.composed import composed_bytes
from service.prompt.profile import UnsupportedModelError


class PromptTokenizer:
    """Tokenizes single texts; the head and tail of a whole prompt are known apart.

    Attributes:
        head_token_ids: what the tokenizer's post-processor puts before a prompt.
        tail_token_ids: what it puts after: `<|endoftext|>` for the released Qwen3-VL-Embedding, and so what is pooled.
        num_ids: ids are 0 to `num_ids` - 1.
        longest_token_bytes: bytes of the longest vocabulary entry as it is written, which is what it covers or more.
    """

    def __init__(self, folder: Path) -> None:
        self._whole = _load(folder)
        self._parsing = _load(folder)
        self._parsing.post_processor = None
        self._plain = _load(folder)
        self._plain.post_processor = None
        self._plain.encode_special_tokens = True
        self.head_token_ids, self.tail_token_ids = self._probe_ends()
        self._composes = _composes(self._whole)
        self.num_ids = max(self._whole.get_vocab(with_added_tokens=True).values()) + 1
        self.longest_token_bytes = max(len(token.encode()) for token in self._whole.get_vocab(with_added_tokens=True))

    def encode(self, text: str, *, parse_special: bool = False) -> Encoding:
        """Tokenize one text without head and tail.

        Args:
            text: any text.
            parse_special: read strings such as `<|im_end|>` as special tokens; otherwise as the characters they are.

        Returns:
            Its `ids` and its `offsets` (character ranges of `text`).
        """
        tokenizer = self._parsing if parse_special else self._plain
        # encode() holds Python's global lock, half a second per million characters; encode_batch() gives it up
        return tokenizer.encode_batch([text], add_special_tokens=False)[0]

    def encode_after(self, text: str, start: int, *, parse_special: bool = False) -> tuple[list[int], int]:
        """Tokenize a text whose beginning is of the template.

        Args:
            text: any text.
            start: its first character that is not.
            parse_special: as for `encode`.

        Returns:
            Its ids, and how many of them begin before `start`: a token that spans both belongs to the beginning.
        """
        encoding = self.encode(text, parse_special=parse_special)
        if start == 0:
            return encoding.ids, 0
        place = encoding.char_to_token(start)
        chars = None if place is None else encoding.token_to_chars(place)
        if place is not None and chars is not None:
            return encoding.ids, place + (chars[0] < start)
        starts = (begin for begin, _ in encoding.offsets)  # no token has that character
        return encoding.ids, next((i for i, begin in enumerate(starts) if begin >= start), len(encoding))

    def encode_rendered(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Tokenize a whole rendered prompt in one go, special tokens parsed, as the reference does.

        Args:
            text: a rendered prompt.
            add_special_tokens: add head and tail.

        Returns:
            Token ids.
        """
        return self._whole.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """Turn ids back into text, special tokens included.

        Args:
            token_ids: ids of this tokenizer; an unknown id gives nothing.

        Returns:
            The text.
        """
        # like encode(), decode() would hold Python's global lock
        return self._whole.decode_batch([list(token_ids)], skip_special_tokens=False)[0]

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token by its exact text, or None."""
        return self._whole.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        """Return the exact text of a token, or None for an unknown id."""
        return self._whole.id_to_token(token_id)

    def least_tokens(self, text: str, enough: int = sys.maxsize) -> int:
        """Fewest tokens that a text can have, found without tokenizing: its bytes over those of the longest token.

        Args:
            text: any text.
            enough: tokens beyond which the exact bound does not matter.

        Returns:
            A lower bound, 0 for the empty text.
        """
        num_bytes, _ = self._measure(text, enough * self.longest_token_bytes, "right")
        return -(-num_bytes // self.longest_token_bytes)

    def clip(self, text: str, num_tokens: int, side: Literal["left", "right"]) -> str:
        """Cut off what so many tokens cannot reach, so that the cost of tokenizing has a bound.

        Args:
            text: any text.
            num_tokens: tokens that will be kept.
            side: `right` keeps the beginning, `left` the end.

        Returns:
            The text, or a part of it that has at least `num_tokens` tokens.
        """
        _, num_chars = self._measure(text, num_tokens * self.longest_token_bytes, side)
        return text[:num_chars] if side == "right" else text[len(text) - num_chars :]

    def _measure(self, text: str, enough_bytes: int, side: Literal["left", "right"]) -> tuple[int, int]:
        """Bytes that a text has at least as the normalizer leaves it, and the characters that were enough."""
        if self._composes:
            return composed_bytes(text, enough_bytes, side)
        return len(text.encode()), min(len(text), enough_bytes)  # a character has a byte at least

    def _probe_ends(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        body = self._whole.encode("probe", add_special_tokens=False).ids
        whole = self._whole.encode("probe", add_special_tokens=True).ids
        for start in range(len(whole) - len(body) + 1):
            if whole[start : start + len(body)] == body:
                return tuple(whole[:start]), tuple(whole[start + len(body) :])
        raise UnsupportedModelError("tokenizer.json has a post-processor that changes the tokens of the text itself")


def _load(folder: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises bare Exception
        raise UnsupportedModelError(f"{folder / 'tokenizer.json'} cannot be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _composes(tokenizer: Tokenizer) -> bool:
    normalizer: Any = tokenizer.normalizer
    if normalizer is None or isinstance(normalizer, normalizers.NFC):
        return normalizer is not None
    raise UnsupportedModelError(
        f"tokenizer.json normalizes with {type(normalizer).__name__}; supported are NFC and no normalizer"
    )
