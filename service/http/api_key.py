"""The key of a request: in `Authorization: Bearer`, as OpenAI's and Cohere's clients send it, or in `x-api-key`.

In: raw headers. Out: the key's bytes, whatever they are, or None. Does not know which keys there are.
"""

from collections.abc import Iterable

SCHEME = b"bearer"


def sent_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The one key of a request.

    Args:
        headers: names and values as they came.

    Returns:
        Its bytes; None when there is none, more than one, or another scheme: which of two would count is not for us to
        guess.

    Source: RFC 6750 section 2.1; the scheme's name has no case (RFC 9110 section 11.1).
    """
    found = [(name.lower(), value) for name, value in headers if name.lower() in (b"authorization", b"x-api-key")]
    if len(found) != 1:
        return None
    (name, value) = found[0]
    if name == b"x-api-key":
        return value.strip(b" \t") or None
    scheme, _, key = value.partition(b" ")
    return (key.strip(b" \t") or None) if scheme.lower() == SCHEME else None
