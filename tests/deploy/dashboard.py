"""The Grafana dashboard as data: its panels, what they ask, and the names in that."""

import json
import re
from typing import Any

from tests.deploy.tools import DEPLOY

Panel = dict[str, Any]

DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "dashboards" / "cenote.json").read_text())
PANELS: list[Panel] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ROWS = [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"]

_SELECTOR = re.compile(r"\b((?:cenote|ALERTS)[a-z0-9_:]*)(\{[^}]*\})?")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"by \(([^)]*)\)")


def expressions(panel: Panel) -> list[str]:
    """Queries of a panel, with Grafana's variables in them."""
    return [target["expr"] for target in panel["targets"]]


def filled_in(expression: str, window: str = "30s") -> str:
    """The same as Grafana would send it."""
    for name, value in (("$__rate_interval", window), ("$job", "cenote"), ("$instance", ".*"), ("$model", ".*")):
        expression = expression.replace(name, value)
    return expression


def series_asked(expression: str) -> list[tuple[str, set[str]]]:
    """Each metric of an expression, with the labels that its selector names."""
    found = _SELECTOR.findall(re.sub(r'"[^"]*"', '""', expression))
    return [(name, set(_LABEL.findall(selector))) for name, selector in found]


def labels_grouped_by(expression: str) -> set[str]:
    """Labels by which an expression tells series apart."""
    return {label.strip() for group in _GROUPED.findall(expression) for label in group.split(",") if label.strip()}
