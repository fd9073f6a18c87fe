"""Row 21: the tests without `assert` in the product (`python -O`), and with Pillow's bomb warnings as errors.

pytest rewrites the assertions of tests, so they hold under `-O`; those of the product are gone, as they would be for
someone who starts it so.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.conftest import ROOT
from tests.scoreboard.line import Result, line

CI = (
    "tests/service/media", "tests/schemas", "tests/service/engine", "tests/service/front",
    "tests/service/ipc", "tests/service/prompt", "tests/journey/test_refusals.py",
    "tests/journey/test_per_item.py",
)  # fmt: skip
"""The lines that refuse and check; nightly runs everything."""
WHOLE = 2000
"""Asked for so many or more, the whole suite."""
STRICT = ("-W", "error::PIL.Image.DecompressionBombWarning")


@line(
    21,
    "tests under python -O, with Pillow's bomb warnings as errors",
    "the same results",
    sizes=(len(CI), WHOLE),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    report = folder / "report.xml"
    chosen = ("tests",) if size >= WHOLE else CI if size >= len(CI) else CI[:size]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junit-xml={report}", *STRICT, *chosen]
    environ = os.environ | {"PYTHONOPTIMIZE": "1"}
    subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=False)
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    num_tests = sum(int(suite.get("tests", 0)) for suite in suites)
    failed = [case for suite in suites for case in suite.iter("testcase") if _has_failed(case)]
    return Result(num_tests, len(failed), [f"{case.get('classname')}::{case.get('name')}" for case in failed[:5]])


def _has_failed(case: ET.Element) -> bool:
    return any(case.find(kind) is not None for kind in ("failure", "error"))
