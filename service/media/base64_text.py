"""Base64 as RFC 4648 section 4 has it: the standard alphabet, full padding and no more, no white space."""

import binascii


def decode_base64(text: str) -> bytes:
    """The bytes that a text stands for.

    Python's own strict mode passes over `=` behind a group that is full, so that `QUJD` and `QUJD=` were the same.

    Args:
        text: base64.

    Raises:
        ValueError: it is anything else.
    """
    if len(text) % 4 or text.endswith("==="):
        raise ValueError("the length of base64 is a multiple of 4, and at most two signs of it are padding")
    return binascii.a2b_base64(text, strict_mode=True)
