"""Series of the cache's tiers go on when an engine begins to count anew."""

import msgspec

from service import metrics
from service.ipc.messages import StepDone
from service.ipc.reports import CacheReport, TierReport


def value(name: str, tier: str) -> float:
    found = metrics.REGISTRY.get_sample_value(f"cenote_encoder_cache_tier_{name}", {"tier": tier})
    assert found is not None
    return found


def observe(*tiers: TierReport) -> None:
    metrics.observe_step(StepDone(cache=CacheReport(num_entries=0, num_bytes=0, num_evictions=0, tiers=tiers)))


def test_counters_go_on_over_an_engines_end_and_gauges_follow() -> None:
    report = TierReport(
        tier="disk", num_hits=5, num_misses=4, num_bytes=100, num_entries=3, num_evictions=2, num_rejected=1
    )
    before = {name: value(f"{name}_total", "disk") for name in ("hits", "misses", "evictions", "rejected")}
    observe(report)
    observe(report)
    observe(msgspec.structs.replace(report, num_hits=9, num_bytes=200))
    observe(TierReport(tier="disk", num_hits=1))  # another engine
    gained = {name: value(f"{name}_total", "disk") - count for name, count in before.items()}
    assert gained == {"hits": 10, "misses": 4, "evictions": 2, "rejected": 1}
    assert (value("bytes", "disk"), value("entries", "disk")) == (0, 0)
