"""A checkpoint's tokenizer, with the client's text kept apart from the template's special tokens.

In: a folder with tokenizer.json; later, texts. Out: token ids.
Knows no template: which special token stands where is the profile's layout. Known words are all that changes after the
constructor, and one instance serves any number of threads.
"""

import codecs
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Encoding
from tokenizers.decoders import DecodeStream

from service.checkpoint.json_files import CheckpointError
from service.prompt.tokenizer.known_words import KnownWords, word_rule
from service.prompt.tokenizer.tokenizer_file import TokenizerFile

logger = logging.getLogger("cenote.model")

MAX_CHARS_LOCKED = 128
"""Of a query: sooner tokenized than Python's global lock is given up and had again."""


def _byte_table() -> dict[str, int]:
    """Character that stands for a byte in the vocabulary, to the byte: itself when printable, else from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


_BYTE_OF = _byte_table()


class PromptTokenizer:
    """Tokenizes single texts; the head and tail of a whole prompt are known apart.

    Attributes:
        head_token_ids: what the tokenizer's post-processor puts before a prompt.
        tail_token_ids: what it puts after: `<|endoftext|>` for the released Qwen3-VL-Embedding, and so what is pooled.
        encode_each: tokenizes several texts without head and tail, special tokens read as characters: the ids of each.
        bound: on the tokens of a text before it is tokenized.
        num_ids: ids are 0 to `num_ids` - 1.
        unread_id: the token that the model passes over; -1: none.
        is_byte_level: whether vocabulary entries are bytes in GPT-2's spelling.
        cuts_lines: whether no token spans a line end and what follows it, unless that is white space.
    """

    def __init__(self, folder: Path, *, lower_case: bool = False, markers: Sequence[str] = ()) -> None:
        """Load it; `lower_case` and `markers` are a profile's."""
        # requests are tokenized side by side; one in several threads of the library takes a tenth more CPU
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        file = TokenizerFile.read(folder, lower_case=lower_case, markers=markers)
        self._whole = file.load()
        self._parsing = file.load()
        self._parsing.post_processor = None
        self._plain = file.load_plain()
        rule = word_rule(file.content)
        self.encode_each = self._encode_each if rule is None else KnownWords(rule, self._encode_each).encode_each
        self.bound = file.bound(self._whole)
        self.is_byte_level = file.is_byte_level
        self.unread_id = file.unread_id
        self.cuts_lines = file.cuts_lines
        self.head_token_ids, self.tail_token_ids = self._probe_ends()
        self.num_ids = max(self._whole.get_vocab(with_added_tokens=True).values()) + 1
        if beyond := [i for i in (*self.head_token_ids, *self.tail_token_ids) if i >= self.num_ids]:
            raise CheckpointError(f"{file.path} puts the token {beyond[0]} around a text, which it does not have")
        if file.dropped:
            logger.warning(
                "%s adds tokens without an embedding, which are read as text: %s", file.path, ", ".join(file.dropped)
            )

    def encode(self, text: str, *, parse_special: bool = False) -> Encoding:
        """Tokenize one text without head and tail: its `ids` and its `offsets` (character ranges of `text`).

        Args:
            parse_special: read strings such as `<|im_end|>` as special tokens; otherwise as the characters they are.
        """
        tokenizer = self._parsing if parse_special else self._plain
        # encode() holds Python's global lock, half a second per million characters; encode_batch() gives it up
        if len(text) <= MAX_CHARS_LOCKED:
            return tokenizer.encode(text, add_special_tokens=False)
        return tokenizer.encode_batch([text], add_special_tokens=False)[0]

    def _encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        if sum(map(len, texts)) <= MAX_CHARS_LOCKED:
            return [self._plain.encode(text, add_special_tokens=False).ids for text in texts]
        # "fast" is without the places of tokens in the text
        return [one.ids for one in self._plain.encode_batch_fast(texts, add_special_tokens=False)]

    def encode_between(
        self, text: str, start: int, stop: int, *, parse_special: bool = False
    ) -> tuple[list[int], range]:
        """Tokenize a text whose beginning and end are of the template.

        Args:
            start: its first character that is not.
            stop: after its last one that is not.
            parse_special: as for `encode`.

        Returns:
            Its ids, and which of them are of neither: a token that spans a border belongs to the template.
        """
        encoding = self.encode(text, parse_special=parse_special)
        first = _token_at(encoding, start, is_begun=False)
        end = len(encoding) if stop == len(text) else _token_at(encoding, stop, is_begun=True)
        return encoding.ids, range(first, max(first, end))

    def encode_rendered(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Tokenize a whole rendered prompt in one go, special tokens parsed, as the reference does."""
        return self._whole.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """Turn ids back into text, special tokens included; an unknown id gives nothing."""
        # like encode(), decode() would hold Python's global lock
        return self._whole.decode_batch([list(token_ids)], skip_special_tokens=False)[0]

    def token_strs(self, token_ids: Sequence[int]) -> list[str]:
        """The text of each token of a prompt or a part of it; joined they are `decode` of all.

        A byte-level vocabulary cuts characters into bytes: a character that spans several tokens stands with the last
        of them, and the others have the empty string. Other vocabularies mark blanks and word parts, which only their
        own decoder reads.

        Source: GPT-2's byte-to-character table, and the ByteLevel decoder of the `tokenizers` library.
        """
        if not self.is_byte_level:
            return self._decode_each(token_ids)
        spelled = {token_id: _bytes(self.id_to_token(token_id) or "") for token_id in set(token_ids)}
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        strs = [decoder.decode(spelled[token_id]) for token_id in token_ids]
        if strs:
            strs[-1] += decoder.decode(b"", final=True)
        return strs

    def _decode_each(self, token_ids: Sequence[int]) -> list[str]:
        stream, strs, num_chars = DecodeStream(skip_special_tokens=False), [], 0
        for token_id in token_ids:
            strs.append(stream.step(self._whole, token_id) or "")
            num_chars += len(strs[-1])
        if strs:
            strs[-1] += self.decode(token_ids)[num_chars:]  # bytes that never became a character
        return strs

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token by its exact text, or None."""
        return self._whole.token_to_id(token)

    def id_to_token(self, token_id: int) -> str | None:
        """Return the exact text of a token, or None for an unknown id."""
        return self._whole.id_to_token(token_id)

    def _probe_ends(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        body = self._whole.encode("probe", add_special_tokens=False).ids
        whole = self._whole.encode("probe", add_special_tokens=True).ids
        for start in range(len(whole) - len(body) + 1):
            if whole[start : start + len(body)] == body:
                return tuple(whole[:start]), tuple(whole[start + len(body) :])
        raise CheckpointError("tokenizer.json has a post-processor that changes the tokens of the text itself")


def _token_at(encoding: Encoding, place: int, *, is_begun: bool) -> int:
    """The first token that begins at a character or after it; the one that spans it, where `is_begun`."""
    if place == 0:
        return 0
    token = encoding.char_to_token(place)
    chars = None if token is None else encoding.token_to_chars(token)
    if token is not None and chars is not None:
        return token + (chars[0] < place and not is_begun)
    starts = (begin for begin, _ in encoding.offsets)  # no token has that character
    return next((i for i, begin in enumerate(starts) if begin >= place), len(encoding))


def _bytes(token: str) -> bytes:
    """Bytes that a vocabulary entry covers; an entry with a character outside the table is text as it stands."""
    if all(character in _BYTE_OF for character in token):
        return bytes(_BYTE_OF[character] for character in token)
    return token.encode()
