"""The event loop's own histogram shows what `prometheus_client`'s shows."""

from prometheus_client import CollectorRegistry, Histogram, generate_latest

from service.accounting import LoopHistogram
from service.metrics import SECONDS

NAME, ABOUT = "cenote_stage_seconds", "Time of a request in each stage"


def test_the_exposition_is_that_of_prometheus_client() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    own = LoopHistogram(NAME, ABOUT, SECONDS, "stage", ours)
    stock = Histogram(NAME, ABOUT, ["stage"], registry=theirs, buckets=SECONDS)
    values = [0.0, 0.002, 0.0020001, 0.01, 59.9, 60.0, 60.1, 1e6]
    for stage, some in (("engine", values), ("write", values[:3]), ("fetch", [])):
        own.show(stage)
        stock.labels(stage)
        for value in some:
            own.observe(stage, value)
            stock.labels(stage).observe(value)
    assert generate_latest(ours) == generate_latest(theirs)
    assert b'cenote_stage_seconds_bucket{le="0.002",stage="engine"} 2.0' in generate_latest(ours)
