"""The facts of a request that is over, for its log line and its span, and the W3C trace it belongs to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from service.stages import Stages

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


class AccessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is over.

    Attributes:
        method: one of HTTP's own, or `other`.
        route: the template of its route, or `other`.
        began_s: when it came, by `time.perf_counter`.
        began_ns: the same by the wall clock, since the epoch.
        trace: the trace that it belongs to, if its headers named one.
        log_fields: numbers, flags, codes and its tenant.
    """

    method: str
    route: str
    status: int
    began_s: float
    began_ns: int
    total_s: float
    request_id: str
    trace: TraceContext | None
    stages: Stages
    log_fields: Mapping[str, object] = msgspec.field(default_factory=dict)

    def line(self, stages_ms: Mapping[str, float], trace_id: str) -> dict[str, object]:
        """The fields of its log line: never a body, a query, a key or a vector."""
        fields: dict[str, object] = {
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": round(self.total_s * 1e3, 1),
            "request_id": self.request_id,
        }
        for name, ms in stages_ms.items():
            fields[f"{name}_ms"] = round(ms, 1)
        fields |= self.log_fields
        if trace_id:
            fields["trace_id"] = trace_id
        return fields
