"""Autoscaling policy: as many embedder replicas as the queued tokens need. Ray applies bounds and delays.

Requests that Ray itself queues, since every replica is full, count with the tokens of an average one.
"""

from typing import Any, Protocol


class Load(Protocol):
    """The fields of Ray's `AutoscalingContext` that the policy reads."""

    current_num_replicas: int
    total_num_requests: float
    total_queued_requests: float | None
    aggregated_metrics: dict[str, dict[Any, float]] | None


def on_queued_tokens(load: Load) -> tuple[float, dict[str, Any]]:
    """Replicas wanted, ``queued tokens / tokens that may wait at one replica``; keeps no state.

    Args:
        load: `queued_tokens` and `max_queued_tokens` of each replica; see `EmbedderReplica.record_autoscaling_stats`.
    """
    reported = load.aggregated_metrics or {}
    most = list(reported.get("max_queued_tokens", {}).values())
    if not most:
        return float(load.current_num_replicas), {}  # no replica has reported yet
    num_tokens = sum(reported.get("queued_tokens", {}).values())
    held_back = load.total_queued_requests or 0.0
    taken = load.total_num_requests - held_back
    if held_back and taken > 0:
        num_tokens += held_back * num_tokens / taken
    return num_tokens / (sum(most) / len(most)), {}
