"""docs/map.md lists every module there is, in its own words."""

from tests.code_map import PAGE, ROOT, code_map


def test_the_map_is_what_the_modules_say() -> None:
    assert PAGE.read_text() == code_map(), "docs/map.md is out of date: `make map`"


def test_every_module_has_a_sentence() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| [`")]
    assert len(rows) > 300
    assert not [row for row in rows if not row.endswith((". |", "`. |", ".) |"))]


def test_every_link_of_the_map_leads_to_a_file() -> None:
    links = [row.split("](")[1].split(")")[0] for row in PAGE.read_text().splitlines() if row.startswith("| [`")]
    assert not [link for link in links if not (ROOT / "docs" / link).is_file()]
