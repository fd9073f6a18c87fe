"""The dashboard shows every series: one that is added later has a panel, or a reason here why it has none."""

import json
import re

from tests.conftest import ROOT

ON_NO_PANEL = {
    "cenote_encoder_cache_bytes": "that of the tier `device`",
    "cenote_encoder_cache_entries": "that of the tier `device`",
    "cenote_encoder_cache_evictions_total": "that of the tier `device`",
    "cenote_decode_stderr_bytes_total": "for the one who looks for a broken codec",
}
PANELS = json.loads((ROOT / "deploy/grafana/dashboards/cenote.json").read_text())["panels"]
ASKED = " ".join(target["expr"] for panel in PANELS for target in panel.get("targets", []))


def test_every_series_is_on_a_panel() -> None:
    names = set(re.findall(r"^\| `(cenote_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bcenote_\w+", ASKED)}
    assert sorted(names - shown - ON_NO_PANEL.keys()) == []
    assert ON_NO_PANEL.keys() <= names - shown


def test_each_route_has_its_p99() -> None:
    assert re.search(r"histogram_quantile\(0\.99, sum by \(route, le\) \(rate\(cenote_request_seconds_bucket", ASKED)
