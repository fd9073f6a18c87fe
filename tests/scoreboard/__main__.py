"""`make scoreboard`: every line of the reliability specification, tried and counted; exit code 1 when one fails."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from tests.conftest import ROOT, SERVER_FLAGS
from tests.scoreboard.board import line_names, render_table, run_lines
from tests.scoreboard.breaks.breaks import BREAKS
from tests.scoreboard.sabotage import goes_unnoticed

FOLDER = ROOT / ".scoreboard"


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="scoreboard", description=__doc__)
    parser.add_argument("--nightly", action="store_true", help="the larger sizes")
    parser.add_argument("--only", help="these lines, separated by commas")
    parser.add_argument("--size", type=int, help="try this many, whatever the line says")
    parser.add_argument("--sabotage", action="store_true", help="break the product instead, and see that lines fail")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table here when the board has run")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where logs and scratch files go")
    parser.add_argument("--fronts", type=int, default=1, help="front processes of every server")
    options = parser.parse_args()
    os.environ[SERVER_FLAGS] = f"--fronts {options.fronts}"  # sabotages and side-by-side lines run in children
    names = options.only.split(",") if options.only else line_names()
    if options.sabotage:
        return _sabotage(names)
    scale = "nightly" if options.nightly else "ci"
    folder = options.folder / "lines"
    shutil.rmtree(folder, ignore_errors=True)
    began_s = time.monotonic()
    rows = run_lines(names, scale, options.size, folder)
    seconds = time.monotonic() - began_s
    if options.write:
        options.write.write_text(render_table(rows, scale, seconds, os.cpu_count() or 1))
    num_failing = sum(not row.passed for row in rows)
    print(f"{len(rows) - num_failing} of {len(rows)} lines hold, {seconds:.0f} s")
    return int(num_failing > 0)


def _sabotage(names: list[str]) -> int:
    num_unnoticed = 0
    for line, one in ((name, broken) for name in names for broken in BREAKS[name]):
        said = goes_unnoticed(line, one)
        num_unnoticed += bool(said)
        print(f"{'UNNOTICED' if said else 'noticed  '} {line}: {one.name}\n{said}".strip(), flush=True)
    return int(num_unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
