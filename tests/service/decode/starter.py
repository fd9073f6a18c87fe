"""Decoders of a test with a program of its choice, closed when the test ends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pytest

from service.decode.isolated import IsolatedDecoder

Decoder = TypeVar("Decoder", bound=IsolatedDecoder)


@contextmanager
def starter(kind: type[Decoder], monkeypatch: pytest.MonkeyPatch, **limits: float) -> Iterator[Callable[..., Decoder]]:
    """Yield a function that starts a decoder within `limits`, which its arguments override.

    `command` is the program of its processes, by default the decoder's own.
    """
    started: list[Decoder] = []

    def start(*, command: Sequence[str] = kind.command, **others: float) -> Decoder:
        monkeypatch.setattr(kind, "command", command)
        started.append(kind(**limits | others))
        return started[-1]

    yield start
    for one in started:
        one.close()
