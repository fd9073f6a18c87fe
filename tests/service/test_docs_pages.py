"""`docs/settings.md` and `docs/metrics.md` are what the code declares, and link to files that exist."""

import re
from functools import cache

import pytest

from service import metrics
from service.docs_pages import render_metrics, render_settings
from service.settings.settings import FIELDS
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = {"settings": cache(render_settings), "metrics": cache(render_metrics)}


@pytest.mark.parametrize("page", PAGES)
def test_a_committed_page_is_what_the_code_gives(page: str) -> None:
    assert (DOCS / f"{page}.md").read_text() == PAGES[page](), "run `make docs`"


def test_every_setting_stands_in_one_row() -> None:
    rows = re.findall(r"^\| `--([a-z0-9-]+)` \| `CENOTE_([A-Z0-9_]+)` \| `([a-z0-9_]+)` \|", PAGES["settings"](), re.M)
    assert [name for _, _, name in rows] == list(FIELDS)
    assert all(flag.replace("-", "_") == variable.lower() == name for flag, variable, name in rows)


def test_every_series_stands_in_one_row_with_the_file_that_counts_it() -> None:
    rows = re.findall(r"^\| `(cenote_\w+)` \| (\w+) \| .* \| (\[.*) \|$", PAGES["metrics"](), re.M)
    families = [one for registry in (metrics.REGISTRY, metrics.SERVICE) for one in registry.collect()]
    names = [family.name + "_total" * (family.type == "counter") for family in families]
    assert sorted(name for name, *_ in rows) == sorted(names)
    links = {link for _, _, files in rows for link in re.findall(r"\]\((.*?)\)", files)}
    assert not [link for link in links if not (DOCS / link).is_file()]
