"""Series of the cache's tiers go on when an engine begins to count anew."""

import subprocess
import sys

import msgspec

from service import metrics
from service.ipc.messages import StepReport
from service.ipc.reports import CacheReport, TierReport


def value(name: str, tier: str) -> float:
    found = metrics.REGISTRY.get_sample_value(f"cenote_encoder_cache_tier_{name}", {"tier": tier})
    assert found is not None
    return found


def observe(*tiers: TierReport) -> None:
    metrics.observe_step(StepReport(cache=CacheReport(num_entries=0, num_bytes=0, num_evictions=0, tiers=tiers)))


def test_series_with_fixed_label_values_exist_before_the_first_step() -> None:
    code = "from service import metrics; print(metrics.render().decode())"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    for kind in ("encode", "language"):
        assert f'cenote_step_seconds_count{{kind="{kind}"}} 0.0' in shown


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


def test_evictions_and_saved_seconds_are_counters_that_outlive_an_engine() -> None:
    def sample(name: str) -> float:
        return metrics.REGISTRY.get_sample_value(f"cenote_encoder_cache_{name}") or 0.0

    def step(num_evictions: int, saved_s: float, *ages: float) -> None:
        device = TierReport(tier="device", num_evictions=num_evictions, evicted_after_s=ages)
        cache = CacheReport(num_entries=0, num_bytes=0, num_evictions=num_evictions, saved_s=saved_s, tiers=(device,))
        metrics.observe_step(StepReport(cache=cache))

    step(0, 0.0)
    before = sample("evictions_total"), sample("saved_seconds_total")
    step(3, 1.5, 2.0, 70.0, 4000.0)
    step(3, 1.5)
    step(1, 0.5, 1.0)  # another engine
    assert (sample("evictions_total") - before[0], sample("saved_seconds_total") - before[1]) == (4, 2.0)
    ages = metrics.REGISTRY.get_sample_value("cenote_encoder_cache_eviction_age_seconds_sum", {"tier": "device"})
    assert ages == 4073.0
    assert metrics.REGISTRY.get_sample_value("cenote_encoder_cache_evictions") is None


def test_a_shared_tier_has_series_for_its_health_and_the_engines_own_tiers_have_none() -> None:
    def sample(name: str, tier: str) -> float | None:
        return metrics.REGISTRY.get_sample_value(f"cenote_encoder_cache_tier_{name}", {"tier": tier})

    observe(TierReport(tier="disk", num_corrupt=1), TierReport(tier="device"))  # another engine
    before = value("corrupt_total", "disk")
    observe(TierReport(tier="disk", num_corrupt=3, is_up=False, last_success_s=1234.0), TierReport(tier="device"))
    assert value("corrupt_total", "disk") - before == 2
    assert (value("up", "disk"), value("last_success_timestamp_seconds", "disk")) == (0, 1234.0)
    assert (sample("up", "device"), sample("corrupt_total", "device")) == (None, None)
