"""W3C trace context: whose trace a request belongs to.

In: the request's headers. Out: the trace, or None when none came or what came is malformed, in which case the request
is served all the same. Answers carry nothing of it: the recommendation defines no response header.

Source: W3C Trace Context (2021), section 3.2.
"""

import re
from dataclasses import dataclass

HEADER = b"traceparent"
_FORM = re.compile(rb"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<parent>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A trace and the caller's place in it.

    Attributes:
        trace_id: 32 lower-case hex digits, not all zero.
        parent_id: 16 of them: the caller's span.
        is_sampled: whether the caller records it.
    """

    trace_id: str
    parent_id: str
    is_sampled: bool


def trace_context(headers: list[tuple[bytes, bytes]]) -> TraceContext | None:
    """The context that came with a request.

    Args:
        headers: of the request, names in lower case.
    """
    came = [value for name, value in headers if name == HEADER]
    found = _FORM.match(came[0].strip()) if len(came) == 1 else None
    if found is None or found["version"] == b"ff":
        return None
    rest = came[0].strip()[found.end() :]
    if rest and (found["version"] == b"00" or not rest.startswith(b"-")):  # later versions may say more
        return None
    if not int(found["trace"], 16) or not int(found["parent"], 16):
        return None
    return TraceContext(found["trace"].decode(), found["parent"].decode(), bool(int(found["flags"], 16) & 1))
