"""docs/models.md has a row for every model family, made from `FAMILIES`."""

from service.prompt.families import FAMILIES
from tests.code_map import ROOT
from tests.models_page import PAGE, models_page


def test_the_page_is_what_the_families_say() -> None:
    assert PAGE.read_text() == models_page(), "docs/models.md is out of date: `make docs`"


def test_every_family_has_a_row_and_its_tests_exist() -> None:
    rows = PAGE.read_text().splitlines()
    assert all(any(f": `{name}` |" in row for row in rows) for name in FAMILIES)
    assert not [path for family in FAMILIES.values() for path in family.tests if not (ROOT / path).exists()]
