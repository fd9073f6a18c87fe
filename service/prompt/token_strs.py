"""The text of each token, so that the texts of a prompt's tokens, joined, are the prompt's text.

In: ids. Out: one string each. A byte-level vocabulary cuts characters into bytes: a character that spans several tokens
stands with the last of them, and the others have the empty string. Other vocabularies have marks for blanks and word
parts, which only their own decoder reads.

Source: GPT-2's byte-to-character table, and the ByteLevel decoder of the `tokenizers` library, which this follows.
"""

import codecs
from collections.abc import Sequence

from service.prompt.tokenizer import PromptTokenizer


def _byte_table() -> dict[str, int]:
    """Character that stands for a byte in the vocabulary, to the byte: itself when printable, else from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


_BYTE_OF = _byte_table()


def token_strs(tokenizer: PromptTokenizer, token_ids: Sequence[int]) -> list[str]:
    """The text of each token of one prompt.

    Args:
        tokenizer: whose ids they are.
        token_ids: the whole prompt, or a part of it.

    Returns:
        As many strings; joined they are `tokenizer.decode(token_ids)`.
    """
    if not tokenizer.is_byte_level:
        return tokenizer.decode_each(token_ids)
    spelled = {token_id: _bytes(tokenizer.id_to_token(token_id) or "") for token_id in set(token_ids)}
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    strs = [decoder.decode(spelled[token_id]) for token_id in token_ids]
    if strs:
        strs[-1] += decoder.decode(b"", final=True)
    return strs


def _bytes(token: str) -> bytes:
    """What a vocabulary entry covers; one with a character outside the table is text as it stands."""
    if all(character in _BYTE_OF for character in token):
        return bytes(_BYTE_OF[character] for character in token)
    return token.encode()
