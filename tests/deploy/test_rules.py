"""Prometheus' configuration and rules, by promtool; and that no alert is without a case for and one against it."""

from typing import Any

import yaml

from tests.deploy.tools import DEPLOY, run

FOLDER = DEPLOY / "prometheus"
GROUPS: list[dict[str, Any]] = yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"] if "alert" in rule}


def test_the_configuration_is_one() -> None:
    run("promtool", "check", "config", FOLDER / "prometheus.yml")


def test_the_rules_are_valid() -> None:
    said = run("promtool", "check", "rules", "--lint-fatal", FOLDER / "rules.yml")
    assert f"{sum(len(group['rules']) for group in GROUPS)} rules found" in said


def test_each_rule_does_what_its_cases_say() -> None:
    run("promtool", "test", "rules", FOLDER / "rules_test.yml")


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fires, does_not = set(), set()
    for case in yaml.safe_load((FOLDER / "rules_test.yml").read_text())["tests"]:
        for look in case.get("alert_rule_test", []):
            (fires if look["exp_alerts"] else does_not).add(look["alertname"])
    assert fires == does_not == ALERTS.keys()


def test_every_alert_says_how_bad_it_is_and_what_it_means() -> None:
    for name, alert in ALERTS.items():
        assert alert["labels"]["severity"] in ("critical", "warning", "info"), name
        assert alert["annotations"].keys() == {"summary", "description"}, name


def test_the_operator_gets_the_same_rules() -> None:
    rule = yaml.safe_load((DEPLOY / "k8s" / "components" / "monitoring" / "prometheusrule.yaml").read_text())
    assert rule["spec"]["groups"] == GROUPS, "run `make deploy-rules`"
