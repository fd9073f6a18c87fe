"""The page of Markdown that the repository keeps, and its JSON: written after each row, so a stopped run leaves it."""

import json
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from tests.gpu import row
from tests.gpu.row import Row

NOT_MEASURED = "Not measured"
HEADER = ("what", "measured", "ceiling", "share", "wanted", "")
PACKAGES = ("torch", "transformers", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "pillow", "numpy")


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
        self._facts = _facts()
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
            self._place.write_text(_page(rows, self._facts, self._said, self._seconds()))
            self._place.with_suffix(".json").write_text(_as_json(rows, self._facts))


def _facts() -> dict[str, str]:
    """The machine and the versions."""
    found = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    if torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        found["gpu"] = f"{card.name}, {card.multi_processor_count} SMs, {card.total_memory / 2**30:.0f} GiB"
        found["driver"] = _driver()
    return found


def _driver() -> str:
    """Version of the card's driver, by the program that comes with it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return "unknown"
    asked = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.partition("\n")[0] or "unknown"


def table(rows: Sequence[Row]) -> str:
    """The rows alone."""
    cells = [HEADER, ("---", "---", "---", "---:", "---", "---"), *(row.cells for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _page(rows: Sequence[Row], found: dict[str, str], said: str, seconds: float) -> str:
    """The whole page."""
    return f"""# On a GPU

Written by `make check-gpu`; do not edit. {said} {seconds:.0f} s in all.

{table(rows)}

{", ".join(f"{name} {value}" for name, value in found.items())}.

Every share is of what the same card did in the same run. Bytes moved are the fewest that must pass through device
memory: each input read once, each output written once. Weights are random, of the shape of Qwen3-VL-Embedding-2B.
"""


def _as_json(rows: Sequence[Row], found: dict[str, str]) -> str:
    """The same for programs."""
    return json.dumps({"facts": found, "rows": [asdict(one) for one in rows]}, indent=1) + "\n"
