"""Our series after real traffic: sound by promtool, scraped by a real Prometheus, and what the dashboard shows."""

import math
import time
from collections.abc import Iterator

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy import traffic
from tests.deploy.confined_server import ConfinedServer
from tests.deploy.dashboard import PANELS, Panel, expressions, filled_in, series_asked
from tests.deploy.prometheus_server import Prometheus
from tests.deploy.tools import DEPLOY, run

NUM_ROUNDS = 12
QUIET = {"Pictures by URL", "Alerts that fire", "Failures on our side"}
"""Panels that may be empty, or without a number, after this traffic: nothing is fetched, nothing fires or fails."""
OF_PROMETHEUS = {"job", "instance", "alertname", "alertstate", "severity"}
"""Labels that a scrape or a rule adds."""

Series = dict[str, set[str]]


@pytest.fixture(scope="module")
def page(confined: ConfinedServer, prometheus: Prometheus) -> str:
    """The metrics page behind the traffic."""
    return httpx.get(confined.metrics_url).text


@pytest.fixture(scope="module")
def prometheus(confined: ConfinedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Prometheus, after it has watched a dozen busy seconds."""
    target = confined.metrics_url.removeprefix("http://").removesuffix("/metrics")
    one = Prometheus(tmp_path_factory.mktemp("prometheus"), target)
    for number in range(NUM_ROUNDS):
        traffic.one_round(confined, 100 + number)
        traffic.one_video(confined)
        time.sleep(1)
    time.sleep(3)  # two more scrapes and an evaluation
    yield one
    one.stop()


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


def test_what_is_recorded_is_what_the_page_counts(prometheus: Prometheus, page: str) -> None:
    totals = {line.split()[0]: float(line.split()[1]) for line in page.splitlines() if not line.startswith("#")}
    value = {name: float(prometheus.ask(name)[0]["value"][1]) for name in _recorded() if "requests" not in name}
    for name, total in (("inputs", "cenote_inputs_per_request_sum"), ("tokens", "cenote_batch_tokens_sum")):
        counted = value[f"cenote:{name}:rate5m"] * 300  # all that Prometheus saw is within five minutes
        assert 0.5 * totals[total] < counted < 1.1 * totals[total]
    assert 0 < value["cenote:engine_seconds_per_token:rate30m"] < 1
    assert 0.2 < value["cenote:encoder_cache_hits:ratio_rate5m"] < 1
    assert 0 < value["cenote:result_cache_hits:ratio_rate5m"] < 1
    assert 0 <= value["cenote:queue_seconds"] < 30


def _recorded() -> Series:
    """What the rules record, by name, with the labels that are kept."""
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rules.yml").read_text())["groups"]
    names = [rule["record"] for group in groups for rule in group["rules"] if "record" in rule]
    return {name: {"job", "instance", "route", "status"} for name in names}
