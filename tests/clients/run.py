"""Runs every client's tests against one live server, each in an environment of its own (`make clients`).

In: the folders beside this file; each `requirements*.txt` in one is an environment in which the folder's tests run.
Out: what failed, a table, and `N passed, N failed`. Environments are kept under `.clients/` for as long as their
requirements stay the same. Knows no client: what one can do, its own folder says.
"""

import hashlib
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT, LiveServer

HERE = ROOT / "tests" / "clients"
PLACE = ROOT / ".clients"
NUM_INSTALLS = 2
INSTALL_LIMIT_S = 900
TESTS_LIMIT_S = 300

OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "TRANSFORMERS_OFFLINE": "1",
}
"""No telemetry and no downloads; tests/clients/conftest.py fails whatever tries all the same."""
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""The rest of this environment stays away: it may hold keys and addresses of the real services."""


@dataclass(frozen=True)
class Environment:
    """One virtual environment, and the tests that run in it."""

    requirements: Path

    @property
    def name(self) -> str:
        """The folder's name, and what follows `requirements` in the file's."""
        return self.requirements.parent.name + self.requirements.stem.removeprefix("requirements")

    @property
    def folder(self) -> Path:
        return PLACE / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def report(self) -> Path:
        return PLACE / f"{self.name}.xml"

    def install(self) -> str:
        """Make it, or keep the one that is there. Returns what went wrong, or nothing."""
        stamp, wanted = self.folder / "installed", hashlib.sha256(self.requirements.read_bytes()).hexdigest()
        if stamp.exists() and stamp.read_text() == wanted and self.python.exists():
            return ""
        try:
            _quietly(sys.executable, "-m", "venv", "--clear", "--without-pip", str(self.folder))
            pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self.python))
            _quietly(*pip, "install", "--quiet", "--no-compile", "--requirement", str(self.requirements))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            return f"{self.name} could not be installed:\n{(error.stdout or b'').decode()}"
        stamp.write_text(wanted)
        return ""

    def run_tests(self, url: str) -> None:
        """Run pytest in it; what it found is in `report`."""
        self.report.unlink(missing_ok=True)
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        environ = kept | OFFLINE | {"CENOTE_TEST_URL": url, "HOME": str(self.folder)}
        pytest = [str(self.python), "-m", "pytest", "-c", str(HERE / "pytest.ini"), "--rootdir", str(ROOT)]
        options = ["-p", "no:cacheprovider", f"--junit-xml={self.report}", str(self.requirements.parent)]
        try:
            subprocess.run(pytest + options, cwd=ROOT, env=environ, timeout=TESTS_LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            print(f"{self.name}: no end after {TESTS_LIMIT_S} s")

    def counts(self) -> tuple[int, int]:
        """How many passed and failed; tests that never ran to their end are one failure."""
        if not self.report.exists():
            return 0, 1
        suites = ET.parse(self.report).getroot().iter("testsuite")
        totals = [[int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")] for suite in suites]
        num_tests, num_failures, num_errors, num_skipped = (sum(column) for column in zip(*totals, strict=True))
        num_failed = num_failures + num_errors
        return num_tests - num_failed - num_skipped, num_failed if num_tests else 1


def _quietly(*command: str) -> None:
    kind = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    subprocess.run(command, check=True, timeout=INSTALL_LIMIT_S, **kind)  # type: ignore[call-overload]


def environments(names: list[str]) -> list[Environment]:
    """Those with these names, or all."""
    found = sorted((Environment(path) for path in HERE.glob("*/requirements*.txt")), key=lambda each: each.name)
    return [environment for environment in found if not names or environment.name in names]


def main() -> int:
    """Run them all, or those named on the command line; 0 when nothing failed."""
    PLACE.mkdir(exist_ok=True)
    chosen = environments(sys.argv[1:])
    started_s = time.monotonic()
    with ThreadPoolExecutor(NUM_INSTALLS) as pool:
        troubles = dict(zip(chosen, pool.map(Environment.install, chosen), strict=True))
    print(f"{len(chosen)} environments ready after {time.monotonic() - started_s:.0f} s", flush=True)
    server = LiveServer(PLACE / "server.log").wait_until_ready()
    try:
        for environment in chosen:
            print(f"\n{environment.name}", troubles[environment], flush=True)
            if not troubles[environment]:
                environment.run_tests(server.url)
    finally:
        server.stop()
    return close(chosen, troubles)


def close(chosen: list[Environment], troubles: dict[Environment, str]) -> int:
    """Print the table and the closing line."""
    counts = {environment: (0, 1) if troubles[environment] else environment.counts() for environment in chosen}
    print()
    for environment, (passed, failed) in counts.items():
        print(f"{environment.name:20} {passed:3} passed {failed:3} failed")
    passed, failed = (sum(column) for column in zip(*counts.values(), strict=True)) if counts else (0, 1)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
