"""The dashboard's form: what Grafana's own types know, with a unit, a text and a source on every panel."""

import json
import re

import pytest

from tests.deploy.dashboard import DASHBOARD, PANELS, ROWS, Panel, expressions, labels_grouped_by
from tests.deploy.tools import DEPLOY, run

panels = pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

KEEPS = """
import json, sys
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
given = json.load(open(sys.argv[1]))
print(JSONEncoder().encode(Dashboard.from_json(given)))
"""


def test_it_has_a_row_for_each_thing_that_is_watched() -> None:
    assert ROWS == ["Throughput", "Queue", "Stage times", "Cache tiers", "Errors", "Tenants"]


def test_grafanas_own_types_read_all_of_it() -> None:
    path = DEPLOY / "grafana" / "dashboards" / "cenote.json"
    read = json.loads(run("python", "-c", KEEPS, path))
    assert [panel["title"] for panel in read["panels"]] == [panel["title"] for panel in DASHBOARD["panels"]]
    for before, after in zip(DASHBOARD["panels"], read["panels"], strict=True):
        assert before.keys() <= after.keys(), before["title"]
        assert after["gridPos"] == before["gridPos"]
        if before["type"] != "row":
            assert after["fieldConfig"]["defaults"]["unit"] == before["fieldConfig"]["defaults"]["unit"]
            assert [one["expr"] for one in after["targets"]] == expressions(before)


@panels
def test_a_panel_has_a_unit_a_text_and_the_source_that_is_chosen(panel: Panel) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == SOURCE
    assert [target["datasource"] for target in panel["targets"]] == [SOURCE] * len(panel["targets"])


@panels
def test_a_legend_names_only_labels_that_are_there(panel: Panel) -> None:
    for target in panel["targets"]:
        named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        grouped = labels_grouped_by(target["expr"])
        assert named <= (grouped - {"le"} if grouped else {"instance", "job"}), target


def test_panels_do_not_lie_on_each_other_and_have_numbers_of_their_own() -> None:
    taken: set[tuple[int, int]] = set()
    for place in (panel["gridPos"] for panel in DASHBOARD["panels"]):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_its_variables_are_those_that_its_panels_use() -> None:
    declared = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(DASHBOARD["panels"]))) - {"__rate_interval"}
    assert used == declared == {"datasource", "job", "instance", "model"}
