"""docs/map.md, which `make docs` writes, lists every module there is, in its own words."""

from tests.code_map import ROOT, code_map

ROWS = [line for line in code_map().splitlines() if line.startswith("| [`")]


def test_every_module_has_a_sentence() -> None:
    assert len(ROWS) > 300
    assert not [row for row in ROWS if not row.endswith((". |", "`. |", ".) |"))]


def test_every_link_of_the_map_leads_to_a_file() -> None:
    links = [row.split("](")[1].split(")")[0] for row in ROWS]
    assert not [link for link in links if not (ROOT / "docs" / link).is_file()]
