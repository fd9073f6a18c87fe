"""Answers in parts: what is small is written at once, what is large when its turn comes.

In: a response struct, in which each vector is a `Late`. Out: the text between them, and they, in order. So whatever can
fail has been done before the first byte goes out, and of a large answer only a slice exists at a time. Knows no vector.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

MARK = b"\0"
"""Stands for a `Late` in the text: JSON has this byte nowhere, since strings escape it."""

_RAW_MARK = msgspec.Raw(MARK)


class Late:
    """A part of an answer that is printed when it is sent and not before. No dataclass: msgspec would encode that.

    Attributes:
        text: prints it, as pieces.
        num_bytes: how long it will be.
        is_exact: False where that is an estimate, since digits are not counted before they are printed.
    """

    __slots__ = ("is_exact", "num_bytes", "text")

    def __init__(
        self, text: Callable[[], Iterable[bytes | memoryview]], num_bytes: int, *, is_exact: bool = True
    ) -> None:
        self.text = text
        self.num_bytes = num_bytes
        self.is_exact = is_exact


@dataclass(frozen=True, slots=True)
class Parts:
    """An answer.

    Attributes:
        parts: bytes that are there, and parts that are not yet.
    """

    parts: Sequence[bytes | Late]

    @property
    def num_bytes(self) -> int:
        """Its length, or nearly so."""
        return sum(part.num_bytes if isinstance(part, Late) else len(part) for part in self.parts)

    @property
    def is_exact(self) -> bool:
        """Whether `num_bytes` is its length."""
        return all(part.is_exact for part in self.parts if isinstance(part, Late))

    def pieces(self) -> Iterator[bytes | memoryview]:
        """Its bytes in order, printed as they are asked for."""
        for part in self.parts:
            if isinstance(part, Late):
                yield from part.text()
            else:
                yield part

    def slices(self, min_bytes: int) -> Iterator[bytes]:
        """The same in pieces of at least so many bytes, but for the last.

        Returns:
            An iterator that lets go of each part when it has given it: who takes slowly holds what is left.
        """
        return _slices(deque(self.parts), min_bytes)


def _slices(left: deque[bytes | Late], min_bytes: int) -> Iterator[bytes]:
    held: list[bytes | memoryview] = []
    num_held = 0
    while left:
        part = left.popleft()
        for piece in part.text() if isinstance(part, Late) else (part,):
            held.append(piece)
            num_held += len(piece)
            if num_held >= min_bytes:
                yield b"".join(held)
                held, num_held = [], 0
    yield b"".join(held)


def in_parts(answer: object) -> Parts:
    """A response as JSON, but for what is `Late` in it.

    Args:
        answer: what msgspec can encode, with a `Late` for any value.
    """
    late_ones: list[Late] = []
    return _parted(_encoder(late_ones).encode(answer), late_ones)


def lines_in_parts(answers: Sequence[object]) -> Parts:
    """Answers as lines of JSON, but for what is `Late` in them.

    Args:
        answers: each as `in_parts` takes it.
    """
    late_ones: list[Late] = []
    return _parted(_encoder(late_ones).encode_lines(answers), late_ones)


def _encoder(late_ones: list[Late]) -> msgspec.json.Encoder:
    """An encoder that leaves a mark for each `Late`, and the `Late` in the list."""

    def put_off(value: object) -> msgspec.Raw:
        if not isinstance(value, Late):
            raise TypeError(f"{type(value).__name__} is no part of an answer. This is a bug.")
        late_ones.append(value)
        return _RAW_MARK

    return msgspec.json.Encoder(enc_hook=put_off)


def _parted(text: bytes, late_ones: Sequence[Late]) -> Parts:
    first, *texts = text.split(MARK)
    return Parts([first, *(part for pair in zip(late_ones, texts, strict=True) for part in pair)])


def encode(answer: object) -> bytes:
    """A response as JSON, all of it."""
    return b"".join(in_parts(answer).pieces())
