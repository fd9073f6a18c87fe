"""The board as a dated table in Markdown: what a reader of the repository finds."""

import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from tests.conftest import ROOT
from tests.scoreboard.board import Row

VERSIONS = ("litestar", "msgspec", "uvicorn", "h11", "pillow", "torch", "transformers", "safetensors", "numpy")
HEADER = ("row", "line", "what is tried", "must hold", "tried", "failed", "seconds", "")


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
