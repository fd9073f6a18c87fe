"""Base64 as clients write it: RFC 4648 section 4, and its URL-safe alphabet, no padding or a newline at the end.

One text stands for one sequence of bytes; all keys are made of the bytes, so its spelling makes no second of anything.
"""

import binascii

MIN_UNPADDED_CHARS = 100
"""A shorter text with a slash and no padding is a path: no picture and no sound is so small, but for some GIFs."""


def decode_base64(text: str) -> bytes:
    """The bytes that a text stands for.

    Python's own strict mode passes over `=` behind a group that is full, so that `QUJD` and `QUJD=` were the same.

    Args:
        text: base64 without white space behind it.

    Raises:
        ValueError: it is anything else.
    """
    if len(text) % 4 == 0:
        try:
            return _strict(text)
        except ValueError:
            return _strict(_standard(text))
    if text.endswith("=") or ("/" in text and len(text) < MIN_UNPADDED_CHARS):
        raise ValueError("padding is whole or missing altogether")
    return _strict(_standard(text + "=" * (-len(text) % 4)))


def num_decoded(text: str) -> int:
    """How many bytes that will be.

    Args:
        text: base64 without white space behind it.
    """
    return len(text) * 3 // 4 - text[-2:].count("=")


def _strict(text: str) -> bytes:
    if text.endswith("==="):
        raise ValueError("at most two signs are padding")
    return binascii.a2b_base64(text, strict_mode=True)


def _standard(text: str) -> str:
    """A text of the URL-safe alphabet in the standard one.

    Raises:
        ValueError: it mixes the two.
    """
    if "-" not in text and "_" not in text:
        return text
    if "+" in text or "/" in text:
        raise ValueError("base64 has one alphabet, not two")
    return text.replace("-", "+").replace("_", "/")
