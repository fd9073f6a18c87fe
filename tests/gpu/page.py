"""The page that the repository keeps, and its JSON: written after each row, so a stopped run leaves what it had."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.gpu import report, row
from tests.gpu.row import Row

NOT_MEASURED = "Not measured"


class Page:
    """All rows there are, of this run and of earlier ones that had the same card and versions."""

    def __init__(self, place: Path, names: Sequence[str], said: str, seconds: Callable[[], float]) -> None:
        """Begin with what is there. A page without figures never takes the place of one with figures.

        Args:
            place: of the page; its JSON lies beside it.
            names: of all rows, in their order.
            said: on what is measured, or why nothing is.
            seconds: since the run began.
        """
        self._place, self._said, self._seconds = place, said, seconds
        self._facts = report.facts()
        has_figures = place.exists() and NOT_MEASURED not in place.read_text()
        self._stays = has_figures and said.startswith(NOT_MEASURED)
        if self._stays:
            print(f"{place} holds figures of a GPU and stays as it is.")
        self._rows = {name: Row(name) for name in names} | self._earlier(names)
        self._write()

    def put(self, one: Row) -> None:
        """Take a row of this run; one that was not measured leaves what an earlier run has."""
        if one.measured != row.NOT_MEASURED:
            self._rows[one.name] = one
            self._write()

    def _earlier(self, names: Sequence[str]) -> dict[str, Row]:
        beside = self._place.with_suffix(".json")
        found = json.loads(beside.read_text()) if beside.exists() else {"facts": {}, "rows": []}
        same = {**found["facts"], "date": self._facts["date"]} == self._facts
        rows = [Row(**one) for one in found["rows"] if same and one["name"] in names]
        return {one.name: one for one in rows if one.measured != row.NOT_MEASURED}

    def _write(self) -> None:
        if not self._stays:
            rows = list(self._rows.values())
            self._place.write_text(report.page(rows, self._facts, self._said, self._seconds()))
            self._place.with_suffix(".json").write_text(report.as_json(rows, self._facts))
