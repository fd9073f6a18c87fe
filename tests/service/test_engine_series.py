"""Series of engines: each model's apart, and they go on when an engine begins to count anew."""

import subprocess
import sys
from itertools import count

import msgspec
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from service import metrics
from service.engine_series import EngineSeries
from service.ipc.messages import StepReport
from service.ipc.reports import CacheReport, ResultReport, TierReport

ODD = 'a "quoted" \\ name, {of} two\nlines=' + "x" * 500 + "é"
AT_START = """
from service import metrics
from service.engine_series import EngineSeries
EngineSeries("one"), EngineSeries("two")
from prometheus_client import generate_latest
print(generate_latest(metrics.SERVICE).decode())
"""
STEP = StepReport(
    num_requests=3,
    num_hits=1,
    num_misses=2,
    num_encoded=2,
    num_tokens=50,
    num_prefix_tokens=7,
    step_ms=20.0,
    cache=CacheReport(num_entries=4, num_bytes=400, num_evictions=5),
    results=ResultReport(num_entries=6, num_bytes=600, num_hits=8, num_misses=9, num_evictions=10, num_deduplicated=11),
)
"""A step of an engine; no two of its numbers are the same but those of one thing."""
OF_STEP = {
    "cenote_vision_encodes_total": 2,
    "cenote_batch_inputs_sum": 3,
    "cenote_batch_tokens_sum": 50,
    "cenote_encoder_cache_hits_total": 1,
    "cenote_encoder_cache_misses_total": 2,
    "cenote_encoder_cache_bytes": 400,
    "cenote_encoder_cache_entries": 4,
    "cenote_encoder_cache_evictions_total": 5,
    "cenote_prefix_cache_tokens_total": 7,
    "cenote_result_cache_bytes": 600,
    "cenote_result_cache_entries": 6,
    "cenote_result_cache_hits_total": 8,
    "cenote_result_cache_misses_total": 9,
    "cenote_result_cache_evictions_total": 10,
    "cenote_requests_deduplicated_total": 11,
}

RESTARTS = "cenote_engine_restarts_total"

_numbers = count()


class Model:
    """A model of its own, and what is shown of it."""

    def __init__(self, name: str | None = None) -> None:
        self.name = f"model {next(_numbers)}" if name is None else name
        self.series = EngineSeries(self.name)

    def shown(self, name: str, **labels: str) -> float | None:
        return metrics.SERVICE.get_sample_value(name, {"model": self.name, **labels})

    def tier(self, name: str, tier: str) -> float | None:
        return self.shown(f"cenote_encoder_cache_tier_{name}", tier=tier)

    def observe(self, *tiers: TierReport, num_evictions: int = 0, saved_s: float = 0.0) -> None:
        cache = CacheReport(num_entries=0, num_bytes=0, num_evictions=num_evictions, saved_s=saved_s, tiers=tiers)
        self.series.observe_step(StepReport(cache=cache))


@pytest.fixture
def model() -> Model:
    return Model()


def test_series_with_fixed_label_values_exist_for_each_model_before_its_first_step() -> None:
    shown = subprocess.run([sys.executable, "-c", AT_START], check=True, capture_output=True, text=True).stdout
    for name in ("one", "two"):
        assert f'cenote_engine_ready{{model="{name}"}} 0.0' in shown
        for kind in ("encode", "language"):
            assert f'cenote_step_seconds_count{{kind="{kind}",model="{name}"}} 0.0' in shown
        for tier in ("device", "host", "disk", "valkey"):
            assert f'cenote_encoder_cache_tier_hits_total{{model="{name}",tier="{tier}"}} 0.0' in shown


def test_two_models_count_apart() -> None:
    busy, idle = Model(), Model()
    busy.series.observe_step(STEP)
    busy.series.engine_ready.set(1)
    busy.series.engine_restarts.inc()
    busy.series.tier_up("disk").set(1)
    assert {name: busy.shown(name) for name in OF_STEP} == OF_STEP
    assert {name: idle.shown(name) for name in OF_STEP} == dict.fromkeys(OF_STEP, 0)
    for name in ("cenote_engine_ready", "cenote_engine_restarts_total"):
        assert (busy.shown(name), idle.shown(name)) == (1, 0)
    assert (busy.tier("up", "disk"), idle.tier("up", "disk")) == (1, None)
    idle.series.observe_step(STEP)  # what it has seen of the other's cache does not count
    assert {name: idle.shown(name) for name in OF_STEP} == OF_STEP


def test_any_name_can_be_read_back() -> None:
    odd = Model(ODD)
    odd.series.engine_restarts.inc()
    families = text_string_to_metric_families(generate_latest(metrics.SERVICE).decode())
    names = [one.labels["model"] for family in families for one in family.samples if one.name == RESTARTS and one.value]
    assert ODD in names


def test_counters_go_on_over_an_engines_end_and_gauges_follow(model: Model) -> None:
    report = TierReport(
        tier="disk", num_hits=5, num_misses=4, num_bytes=100, num_entries=3, num_evictions=2, num_rejected=1
    )
    model.observe(report)
    model.observe(report)
    model.observe(msgspec.structs.replace(report, num_hits=9, num_bytes=200))
    model.observe(TierReport(tier="disk", num_hits=1))  # another engine
    gained = {name: model.tier(f"{name}_total", "disk") for name in ("hits", "misses", "evictions", "rejected")}
    assert gained == {"hits": 10, "misses": 4, "evictions": 2, "rejected": 1}
    assert (model.tier("bytes", "disk"), model.tier("entries", "disk")) == (0, 0)


def test_evictions_and_saved_seconds_are_counters_that_outlive_an_engine(model: Model) -> None:
    def step(num_evictions: int, saved_s: float, *ages: float) -> None:
        device = TierReport(tier="device", num_evictions=num_evictions, evicted_after_s=ages)
        model.observe(device, num_evictions=num_evictions, saved_s=saved_s)

    step(3, 1.5, 2.0, 70.0, 4000.0)
    step(3, 1.5)
    step(1, 0.5, 1.0)  # another engine
    assert model.shown("cenote_encoder_cache_evictions_total") == 4
    assert model.shown("cenote_encoder_cache_saved_seconds_total") == 2.0
    assert model.shown("cenote_encoder_cache_eviction_age_seconds_sum", tier="device") == 4073.0
    assert model.shown("cenote_encoder_cache_evictions") is None


def test_a_shared_tier_has_series_for_its_health_and_the_engines_own_tiers_have_none(model: Model) -> None:
    model.observe(TierReport(tier="disk", num_corrupt=1), TierReport(tier="device"))
    model.observe(TierReport(tier="disk", num_corrupt=3, is_up=False, last_success_s=1234.0), TierReport(tier="device"))
    assert model.tier("corrupt_total", "disk") == 3
    assert (model.tier("up", "disk"), model.tier("last_success_timestamp_seconds", "disk")) == (0, 1234.0)
    assert (model.tier("up", "device"), model.tier("corrupt_total", "device")) == (None, None)
