"""One `/metrics` of several processes: what is added up, what is not, and that no count ever falls."""

import subprocess
import sys
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families

from service.merged_metrics import COUNTED, NOT_ADDED, MergedMetrics, merge
from service.metrics import REGISTRY

ODD = 'a "quoted" \\ name, {of} two\nlines'
PROCESS = """
import sys
from service import metrics
from service.engine_series import EngineSeries
from service.http.tenant_counts import TENANTS
from service.settings import Settings
num, odd = int(sys.argv[1]), sys.argv[2]
metrics.show_limits(Settings())
metrics.REQUESTS.labels("/v1/embeddings", "200").inc(10 * num)
if num == 2:
    metrics.REQUESTS.labels("/v2/embed", "400").inc()
metrics.REQUEST_SECONDS.observe("/v1/embeddings", 0.004 if num == 1 else 40)
metrics.QUEUE_INPUTS.set(num)
for name in ("one", odd):
    series = EngineSeries(name)
    series.engine_ready.set(num == 2)
    series.cache_bytes.set(1000 * num)
    series.vision_encodes.inc(num)
    series.batch_tokens.observe(100)
    series.tier_up("valkey").set(num == 1)
    series.tier_corrupt("disk").inc(3 * num)
    series.tier_corrupt("vectors").inc(3 * num)
series.engine_ready.set(0)
TENANTS.count("acme", inputs=5, tokens=50)
for number in range(25):
    TENANTS.count(f"{num}-{number}", inputs=100 if num == 2 else 1, tokens=1)
sys.stdout.buffer.write(metrics.render())
"""


@pytest.fixture(scope="module")
def parts() -> list[bytes]:
    """What two processes really show."""
    command = [sys.executable, "-c", PROCESS]
    return [subprocess.run([*command, number, ODD], check=True, capture_output=True).stdout for number in ("1", "2")]


def values(exposition: bytes) -> dict[str, float]:
    samples = (one for family in text_string_to_metric_families(exposition.decode()) for one in family.samples)
    return {f"{one.name}{sorted(one.labels.items())}": one.value for one in samples}


def value(exposition: bytes, name: str, /, **labels: str) -> float:
    return values(exposition)[f"{name}{sorted(labels.items())}"]


def comments(exposition: bytes) -> list[bytes]:
    return [line for line in exposition.splitlines() if line.startswith(b"#")]


def test_one_exposition_stays_what_it_is(parts: list[bytes]) -> None:
    assert merge(parts[:1]) == parts[0]
    assert merge([merge(parts)]) == merge(parts)


def test_counters_and_histograms_are_added_by_name_and_labels(parts: list[bytes]) -> None:
    merged = merge(parts)
    assert comments(merged) == comments(parts[0])
    assert value(merged, "cenote_requests_total", route="/v1/embeddings", status="200") == 30
    assert value(merged, "cenote_requests_total", route="/v2/embed", status="400") == 1
    route = {"route": "/v1/embeddings"}
    assert value(merged, "cenote_request_seconds_count", **route) == 2
    assert value(merged, "cenote_request_seconds_sum", **route) == pytest.approx(40.004)
    counts = [
        value(merged, "cenote_request_seconds_bucket", **route, le=le) for le in ("0.002", "0.005", "30.0", "60.0")
    ]
    assert counts == [0, 1, 1, 2]


def test_gauges_are_added_unless_each_shows_the_whole(parts: list[bytes]) -> None:
    merged = merge(parts)
    assert value(merged, "cenote_queue_inputs") == 3
    for name in ("max_queue_requests", "port"):
        assert value(merged, "cenote_limit", name=name) == value(parts[0], "cenote_limit", name=name)


@pytest.mark.parametrize(("model", "is_ready"), [("one", 1), (ODD, 0)])
def test_each_model_has_its_own_series(parts: list[bytes], model: str, is_ready: int) -> None:
    merged = merge(parts)
    assert value(merged, "cenote_engine_ready", model=model) == is_ready
    assert value(merged, "cenote_encoder_cache_bytes", model=model) == 2000
    assert value(merged, "cenote_vision_encodes_total", model=model) == 3
    assert value(merged, "cenote_batch_tokens_sum", model=model) == 200
    tier = partial(value, merged, model=model)
    assert tier("cenote_encoder_cache_tier_up", tier="valkey") == 0
    assert tier("cenote_encoder_cache_tier_corrupt_total", tier="disk") == 6  # as the engine says to each
    assert tier("cenote_encoder_cache_tier_corrupt_total", tier="vectors") == 9  # as each found itself


def test_a_tenant_is_added_up_where_it_has_a_name(parts: list[bytes]) -> None:
    merged = merge(parts)
    assert value(merged, "cenote_tenant_inputs_total", tenant="acme") == 5  # the second names louder ones
    assert value(merged, "cenote_tenant_inputs_total", tenant="1-0") == 1
    others = [value(part, "cenote_tenant_inputs_total", tenant="other") for part in parts]
    assert value(merged, "cenote_tenant_inputs_total", tenant="other") == sum(others)


def test_nothing_that_was_counted_is_lost_when_a_process_ends_or_is_silent(parts: list[bytes]) -> None:
    one, two = parts
    metrics = MergedMetrics()
    whole = metrics.render({0: one, 1: two})
    assert whole == merge(parts)

    def check_counts(exposition: bytes) -> None:
        counted = values(exposition)
        for family in text_string_to_metric_families(whole.decode()):
            for sample in family.samples if family.type in COUNTED else ():
                assert counted[f"{sample.name}{sorted(sample.labels.items())}"] >= sample.value, sample.name

    silent = metrics.render({1: two})
    check_counts(silent)
    assert value(silent, "cenote_queue_inputs") == 2  # what a silent one holds now is not known
    metrics.ended(0)
    dead = metrics.render({1: two})
    check_counts(dead)
    replaced = metrics.render({0: one, 1: two})
    check_counts(replaced)
    assert value(replaced, "cenote_requests_total", route="/v1/embeddings", status="200") == 40
    assert value(replaced, "cenote_encoder_cache_tier_corrupt_total", model="one", tier="disk") == 6
    metrics.ended(0, two)  # it has said a last word
    assert value(metrics.render({1: two}), "cenote_requests_total", route="/v1/embeddings", status="200") == 50
    metrics.ended(7)  # one that was never asked
    assert values(metrics.render({})).keys() <= values(whole).keys()


def test_a_tenant_that_is_loud_no_more_keeps_its_count() -> None:
    about = b"# HELP cenote_tenant_inputs_total Inputs\n# TYPE cenote_tenant_inputs_total counter\n"
    named = about + b'cenote_tenant_inputs_total{tenant="acme"} 5.0\ncenote_tenant_inputs_total{tenant="other"} 1.0\n'
    unnamed = about + b'cenote_tenant_inputs_total{tenant="other"} 7.0\n'
    again = about + b'cenote_tenant_inputs_total{tenant="acme"} 9.0\ncenote_tenant_inputs_total{tenant="other"} 7.0\n'
    metrics, seen = MergedMetrics(), []
    for part in (named, unnamed, again):
        seen.append(value(metrics.render({0: part, 1: named}), "cenote_tenant_inputs_total", tenant="acme"))
    assert seen == [10, 10, 14]


ADDED = {
    "cenote_streams",
    "cenote_queue_inputs",
    "cenote_queue_tokens",
    "cenote_queue_bytes",
    "cenote_answer_bytes",
    "cenote_pixel_arena_bytes",
    "cenote_uuid_store_bytes",
    "cenote_decode_bytes",
    "cenote_media_memory_bytes",
}


def test_of_every_gauge_it_is_decided_whether_it_is_added() -> None:
    gauges = {family.name for family in REGISTRY.collect() if family.type == "gauge"}
    assert gauges - NOT_ADDED.keys() == ADDED
    assert NOT_ADDED.keys() <= {family.name for family in REGISTRY.collect()}
