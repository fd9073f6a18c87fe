"""Content negotiation of an answer with vectors: JSON, or raw bytes for who asks for them by `Accept`.

In: the values of a request's `Accept` headers. Out: whether the answer is `application/octet-stream`. It knows no
vectors, and errors never come here: they are always JSON.
"""

from collections.abc import Iterable, Iterator

JSON = "application/json"
BYTES = "application/octet-stream"

NOTHING = (0.0, 0)
"""Of a type that no range names: not acceptable."""

Preference = tuple[float, int]
"""Quality 0 to 1, then how precisely the type is named: 3 by name, 2 by `application/*`, 1 by `*/*`."""


def prefers_bytes(accept: Iterable[str]) -> bool:
    """Whether the client would rather have raw bytes than JSON.

    Bytes are for a client that says so: by a higher `q`, or at the same `q` by naming the type where JSON is only one
    of `*/*`. Everything else is JSON: no header, `*/*`, both types named alike. So is a header that allows neither: the
    RFC lets a server disregard it, the 406 in its place would have a JSON body all the same, and a client that sends
    `text/html` out of habit gets what it always got.

    Args:
        accept: values of the header, each with any number of media ranges.

    Source: RFC 9110, section 12.5.1 (q values; the most specific range that matches a type speaks for it).
    """
    if not (ranges := list(_ranges(accept))):
        return False
    return _preference(BYTES, ranges) > _preference(JSON, ranges)


def _preference(media_type: str, ranges: list[tuple[str, float]]) -> Preference:
    precision = {media_type: 3, media_type.partition("/")[0] + "/*": 2, "*/*": 1}
    matching = [(precision[name], q) for name, q in ranges if name in precision]
    if not matching:
        return NOTHING
    best, q = max(matching)
    return (q, best) if q > 0 else NOTHING


def _ranges(accept: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Media ranges in lower case with their qualities; what is malformed is passed over, other parameters too."""
    for member in filter(None, ",".join(accept).split(",")):
        name, *parameters = (part.strip().lower() for part in member.split(";"))
        quality = next((value for key, _, value in (p.partition("=") for p in parameters) if key.strip() == "q"), "1")
        if (q := _quality(quality.strip())) is not None:
            yield name, q


def _quality(text: str) -> float | None:
    """A weight between 0 and 1, or None for what is none (`nan`, `1e9`, nothing)."""
    if not text.replace(".", "", 1).isdecimal() or not text.isascii():
        return None
    q = float(text)
    return q if q <= 1 else None
