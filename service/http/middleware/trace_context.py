"""The W3C trace that a request belongs to."""

import re
from dataclasses import dataclass

_TRACEPARENT = re.compile(
    rb"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
)


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A trace and the caller's place in it.

    Attributes:
        trace_id: 32 lower-case hex digits, not all zero.
        parent_id: 16 of them: the caller's span.
        is_sampled: the caller records it.
    """

    trace_id: str
    parent_id: str
    is_sampled: bool


def trace_context(sent: bytes) -> TraceContext | None:
    """The `traceparent` of a request; None where it is malformed: the request is served all the same.

    Source: W3C Trace Context (2021), section 3.2. It defines no response header.
    """
    sent = sent.strip()
    found = _TRACEPARENT.match(sent)
    if found is None or found["version"] == b"ff":
        return None
    rest = sent[found.end() :]
    if rest and (found["version"] == b"00" or not rest.startswith(b"-")):  # later versions may append fields
        return None
    if not int(found["trace"], 16) or not int(found["parent"], 16):
        return None
    return TraceContext(found["trace"].decode(), found["parent"].decode(), bool(int(found["flags"], 16) & 1))
