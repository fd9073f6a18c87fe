"""The series after real traffic: checked by promtool, scraped by a real Prometheus, shown by the dashboard."""

import math
import time
from collections.abc import Iterator

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy import traffic
from tests.deploy.confined_server import ConfinedServer
from tests.deploy.conftest import MODEL
from tests.deploy.dashboard import PANELS, Panel, expressions, filled_in, series_asked
from tests.deploy.prometheus_server import Prometheus
from tests.deploy.tools import DEPLOY, run

NUM_ROUNDS = 12
QUIET = {
    *("Images by URL", "Alerts that fire", "Failures on our side"),
    *("Age at eviction", "Vectors on the shared server"),
}
"""Panels that may be empty, or without a number, after this traffic: nothing is fetched, fires or fails, is evicted or
shared."""
COUNTED = {
    "cenote:inputs:rate5m": 'cenote_inputs_per_request_sum{front="0"}',
    "cenote:tokens:rate5m": f'cenote_batch_tokens_sum{{model="{MODEL}"}}',
}
"""Rates that the rules record, with the sum on the page that each is the rate of."""
CALM = 'up{job="cenote"} == 1 and on() absent(ALERTS)'
"""A scrape that took over its one second makes an alert pending until the next; an alert with a reason stays."""
OF_PROMETHEUS = {"job", "instance", "alertname", "alertstate", "severity"}
"""Labels that a scrape or a rule adds."""

Series = dict[str, set[str]]


@pytest.fixture(scope="module")
def watching(confined: ConfinedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, as soon as it has scraped the server once."""
    target = confined.metrics_url.removeprefix("http://").removesuffix("/metrics")
    one = Prometheus(tmp_path_factory.mktemp("prometheus"), target)
    one.wait_for('up{job="cenote"} == 1')
    yield one
    one.stop()


@pytest.fixture(scope="module")
def page_before(confined: ConfinedServer, watching: Prometheus) -> str:
    """The metrics page when the first scrape was made: what other files asked before is on it."""
    return httpx.get(confined.metrics_url).text


@pytest.fixture(scope="module")
def page(confined: ConfinedServer, page_before: str) -> str:
    """The metrics page behind a dozen busy seconds."""
    for number in range(NUM_ROUNDS):
        traffic.one_round(confined, 100 + number)
        traffic.one_video(confined)
        time.sleep(1)
    return httpx.get(confined.metrics_url).text


@pytest.fixture(scope="module")
def prometheus(watching: Prometheus, page: str) -> Prometheus:
    """Prometheus, when it has seen what the page counts and evaluated its rules on it."""
    for name in COUNTED.values():
        watching.wait_for(f"{name} >= {_samples(page)[name]}")  # more when the server has asked itself since the page
    time.sleep(2)  # rules are evaluated every second
    watching.wait_for(CALM)
    return watching


@pytest.fixture(scope="module")
def series(page: str) -> Series:
    """Each sample's name with the labels that it may have."""
    known: Series = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)
    return known


def test_promtool_finds_nothing_about_our_series(page: str) -> None:
    assert run("promtool", "check", "metrics", stdin=page) == ""


def test_it_is_scraped_without_an_error_and_no_alert_fires(prometheus: Prometheus) -> None:
    target = prometheus.get("targets")["activeTargets"][0]
    assert (target["health"], target["lastError"]) == ("up", "")
    assert prometheus.get("alerts")["alerts"] == []
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_only_for_series_that_there_are(panel: Panel, series: Series) -> None:
    recorded = _recorded()
    for expression in expressions(panel):
        asked = series_asked(expression)
        assert asked, expression
        for name, labels in asked:
            if name == "ALERTS":
                continue
            known = recorded.get(name) or series.get(name)
            assert known is not None, f"{name} is not on the page"
            assert labels <= known | OF_PROMETHEUS, f"{name} has no label {labels - known}"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_shows_numbers_after_traffic(panel: Panel, prometheus: Prometheus) -> None:
    samples = [one for expression in expressions(panel) for one in prometheus.ask(filled_in(expression))]
    numbers = [float(sample["value"][1]) for sample in samples]
    if panel["title"] not in QUIET:
        assert samples
        assert any(map(math.isfinite, numbers)), "nothing but NaN"


def test_what_is_recorded_is_what_the_page_counts(prometheus: Prometheus, page_before: str, page: str) -> None:
    before, after = _samples(page_before), _samples(page)
    value = {name: float(prometheus.ask(name)[0]["value"][1]) for name in _recorded() if "requests" not in name}
    for recorded, name in COUNTED.items():
        seen = after[name] - before[name]
        assert seen > 50
        # All that Prometheus saw is within the five minutes; rate() adds up to a scrape's time at either end of it.
        assert 0.99 * seen < value[recorded] * 300 < 1.2 * seen
    assert 0 < value["cenote:engine_seconds_per_token:rate30m"] < 1
    assert 0.2 < value["cenote:encoder_cache_hits:ratio_rate5m"] < 1
    assert 0 < value["cenote:result_cache_hits:ratio_rate5m"] < 1
    assert 0 <= value["cenote:queue_seconds"] < 30


def _samples(page: str) -> dict[str, float]:
    """The page's samples by name and labels."""
    return {line.split()[0]: float(line.split()[1]) for line in page.splitlines() if not line.startswith("#")}


def _recorded() -> Series:
    """Series that the rules record, by name, with the labels that are kept."""
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())["groups"]
    names = [rule["record"] for group in groups for rule in group["rules"] if "record" in rule]
    return {name: {"job", "instance", "model", "route", "status"} for name in names}
