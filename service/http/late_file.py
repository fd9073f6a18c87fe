"""A file as a JSON string of base64 that is written while it is sent, so that megabytes are never there twice."""

from collections.abc import Iterator
from functools import partial

import pybase64

from service.http.late import Late

PIECE_BYTES = 3 << 15
"""Base64 turns 3 bytes into 4 characters: pieces of whole triples can be put side by side."""


def late_file(head: bytes, data: memoryview) -> Late:
    """A file that will be a JSON string.

    Args:
        head: its beginning.
        data: the rest of it, as bytes.
    """
    return Late(partial(_pieces, head, data), len('""') + -(-(len(head) + len(data)) // 3) * 4)


def _pieces(head: bytes, data: memoryview) -> Iterator[bytes]:
    begin = -len(head) % 3
    yield b'"' + pybase64.b64encode(head + data[:begin])
    for start in range(begin, len(data), PIECE_BYTES):
        yield pybase64.b64encode(data[start : start + PIECE_BYTES])
    yield b'"'
