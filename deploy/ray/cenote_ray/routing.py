"""Groups the prompts of a request into calls with a key, for which the ring of Ray's router finds the owner.

An image's key is its content's, so it is read, decoded and encoded where it was before. Inputs with the same image
go in one call. Texts go in pieces, by what they say: a query that comes again finds its vector.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from service.media.media_item import MediaItem
from service.prompt.prompt import Prompt

MAX_TEXT_TOKENS = 4096
MAX_TEXTS = 64
"""Texts of one call. A call costs about a millisecond, so one for each text would cost more than the texts."""

encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Call:
    """Inputs of a request that go to the owner of `key`, by index."""

    key: str
    indices: tuple[int, ...]


def calls_of(prompts: Mapping[int, Prompt]) -> list[Call]:
    """The calls of a request; `prompts` by index of the input."""
    by_image: dict[str, list[int]] = {}
    texts: list[int] = []
    for index, prompt in prompts.items():
        if prompt.placeholders:
            by_image.setdefault(image_key(prompt), []).append(index)
        else:
            texts.append(index)
    calls = [Call(key, tuple(indices)) for key, indices in by_image.items()]
    return calls + [Call(_text_key(piece, prompts), tuple(piece)) for piece in _pieces(texts, prompts)]


def image_key(prompt: Prompt) -> str:
    """The level-2 key of a prompt's largest image; of equally large ones the smallest key."""
    largest = max((place.item for place in prompt.placeholders), key=_weight)
    return largest.digest.hex()


def _weight(item: MediaItem) -> tuple[int, bytes]:
    return item.num_slot_bytes, bytes(255 - byte for byte in item.digest)


def _pieces(texts: list[int], prompts: Mapping[int, Prompt]) -> list[list[int]]:
    pieces: list[list[int]] = []
    num_tokens = 0
    for index in texts:
        length = len(prompts[index].plan.ids)
        if not pieces or len(pieces[-1]) == MAX_TEXTS or num_tokens + length > MAX_TEXT_TOKENS:
            pieces.append([])
            num_tokens = 0
        pieces[-1].append(index)
        num_tokens += length
    return pieces


def _text_key(piece: list[int], prompts: Mapping[int, Prompt]) -> str:
    return hashlib.sha256(encode([prompts[index].plan.ids for index in piece])).hexdigest()
