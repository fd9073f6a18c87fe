"""Runs lines, each in a process of its own, and says what came out: line by line, and as a dated page."""

import importlib
import json
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.conftest import ROOT
from tests.scoreboard.line import Line, Result

LINES = Path(__file__).parent / "lines"
LIMIT_S = {"ci": 600, "nightly": 36_000}
NUM_SIDE_BY_SIDE = 2
LAST = "logs"
"""Reads what the others left behind."""
VERSIONS = ("litestar", "msgspec", "uvicorn", "h11", "pillow", "torch", "transformers", "safetensors", "numpy")
HEADER = ("row", "line", "what is tried", "must hold", "tried", "failed", "seconds", "")


@dataclass(frozen=True, slots=True)
class Row:
    """A line's result with its time."""

    line: Line
    result: Result
    seconds: float

    @property
    def passed(self) -> bool:
        return self.result.num_tried > 0 and self.result.num_failed == 0


def load_line(name: str) -> Line:
    """The line of a module in `lines/`."""
    line: Line = importlib.import_module(f"tests.scoreboard.lines.{name}").run
    return line


def line_names() -> list[str]:
    """Every line, in the order of the specification."""
    names = [path.stem for path in LINES.glob("*.py") if "\n@line(" in path.read_text()]
    return sorted(names, key=lambda name: (name == LAST, load_line(name).number, name))


def run_lines(names: Sequence[str], scale: str, size: int | None, folder: Path) -> list[Row]:
    """Run lines and print each as it ends; those that bear company first, two at a time."""
    lines = [load_line(name) for name in names]

    def run(line: Line) -> Row:
        row = _run_apart(line, size or line.sizes[scale == "nightly"], folder / line.name, LIMIT_S[scale])
        print(_told(row), flush=True)
        return row

    with ThreadPoolExecutor(NUM_SIDE_BY_SIDE) as pool:
        in_company = dict(pool.map(lambda line: (line.name, run(line)), [line for line in lines if line.side_by_side]))
    alone = {line.name: run(line) for line in lines if not line.side_by_side}
    return [(in_company | alone)[name] for name in names]


def _run_apart(line: Line, size: int, folder: Path, limit_s: int) -> Row:
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "result.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.scoreboard.one", line.name, str(size), str(folder)]
    began_s = time.monotonic()
    try:
        with (folder / "output.txt").open("wb") as output:
            code = subprocess.run(command, stdout=output, stderr=output, timeout=limit_s, check=False).returncode
        end = f"ended with exit code {code}"
    except subprocess.TimeoutExpired:
        end = f"did not end within {limit_s} s"
    seconds = time.monotonic() - began_s
    if report.exists():
        return Row(line, Result(**json.loads(report.read_text())), seconds)
    lines = (folder / "output.txt").read_text(errors="replace").splitlines()
    return Row(line, Result(0, 1, [end, *lines[-1:]]), seconds)


def write_result(result: Result, folder: Path) -> None:
    """Hand a result from the line's process to the board's."""
    (folder / "result.json").write_text(json.dumps(asdict(result)))


def _told(row: Row) -> str:
    line, result = row.line, row.result
    verdict = "ok  " if row.passed else "FAIL"
    head = f"{verdict} {line.number:2d} {line.name:18s} tried {result.num_tried:7,d}  failed {result.num_failed:5,d}"
    return "\n".join([f"{head}  {row.seconds:6.1f} s  {line.must}", *(f"        {note}" for note in result.notes[:8])])


def render_table(rows: Sequence[Row], scale: str, seconds: float, num_cores: int) -> str:
    """The whole page."""
    cells = [HEADER, ("---:", "---", "---", "---", "---:", "---:", "---:", "---"), *map(_cells, rows)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    notes = "\n".join(f"- **{row.line.name}**: {note}" for row in rows for note in row.result.notes)
    passed = sum(row.passed for row in rows)
    return f"""# Scoreboard

Written by `make scoreboard`; do not edit. {datetime.now(UTC):%Y-%m-%d}, commit {_commit()}, size {scale}:
{passed} of {len(rows)} lines hold, {seconds:.0f} s on {num_cores} cores. Rows are those of the project's security and
reliability specification; each line also has a deliberate break of the product that makes it fail (`make sabotage`).

Python {platform.python_version()}, {", ".join(f"{name} {version(name)}" for name in VERSIONS)}.

{table}

## Figures and failures

{notes or "None."}
"""


def _cells(row: Row) -> tuple[str, ...]:
    line, result = row.line, row.result
    counts = (f"{result.num_tried:,}", f"{result.num_failed:,}", f"{row.seconds:.1f}")
    return str(line.number), line.name, line.measure, line.must, *counts, "holds" if row.passed else "**fails**"


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or "unknown"
