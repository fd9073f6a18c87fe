"""What is known of a request once it is over: what its log line and its span are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service.http.trace_context import TraceContext
from service.stages import Stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A request that is over.

    Attributes:
        method: as it came, if it is one of HTTP's own.
        route: the template of its route.
        status: of its answer.
        began_s: when it came, by `time.perf_counter`.
        began_ns: the same by the wall clock, since the epoch.
        total_s: how long it took.
        request_id: its id.
        trace: the trace that it belongs to, if it said so.
        stages: where the time went.
        told: what rings and routes have told of it: numbers, flags, codes and its tenant.
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
    told: Mapping[str, object] = field(default_factory=dict)

    def line(self, times_ms: Mapping[str, float], trace_id: str | None) -> dict[str, object]:
        """What its log line tells: never a body, a query, a key or a vector.

        Args:
            times_ms: milliseconds by stage.
            trace_id: of the trace that it belongs to, or None.
        """
        said: dict[str, object] = {
            "method": self.method,
            "route": self.route,
            "status": self.status,
            "ms": round(self.total_s * 1e3, 1),
            "request_id": self.request_id,
        }
        said |= {f"{name}_ms": round(ms, 1) for name, ms in times_ms.items()}
        said |= self.told
        return said | ({"trace_id": trace_id} if trace_id else {})
