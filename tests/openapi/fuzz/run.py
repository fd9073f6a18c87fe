"""Requests that a machine makes from `openapi.json`, valid and not, against a live server (`make fuzz`).

Schemathesis runs all of its phases with every check on: no 5xx, every status, header and body as the document says,
nothing accepted that the schema forbids. It lives in an environment of its own, kept while its requirements stay.
"""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.clients.run import PLACE, PythonEnvironment
from tests.conftest import CHECKPOINT, ROOT, LiveServer
from tests.openapi.fuzz.stated import as_stated

HERE = ROOT / "tests" / "openapi" / "fuzz"
NUM_CASES = 2000
CASES_EACH_SHARE = 20
"""All phases over all operations make at least so many cases for each one that an operation is asked for."""
SEED = "1"


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of one run.

    Attributes:
        num_cases: requests that were made.
        num_failures: distinct failures.
        output: all that it said.
    """

    num_cases: int
    num_failures: int
    output: str


def fuzz(url: str, num_cases: int) -> Findings:
    """Make about that many cases, and never fewer.

    Raises:
        RuntimeError: schemathesis could not be installed.
    """
    PLACE.mkdir(exist_ok=True)
    environment = PythonEnvironment(HERE / "requirements.txt")
    if trouble := environment.install():
        raise RuntimeError(trouble)
    each = str(max(1, num_cases // CASES_EACH_SHARE))
    with tempfile.TemporaryDirectory() as scratch:  # it keeps examples where it runs
        document = Path(scratch) / "openapi.json"
        document.write_text(json.dumps(as_stated(json.loads((ROOT / "openapi.json").read_text()))))
        command = [str(environment.folder / "bin" / "schemathesis"), "--config-file", str(HERE / "schemathesis.toml")]
        command += ["run", str(document), "--url", url, "--seed", SEED, "--max-examples", each]
        command += ["--continue-on-failure", "--no-color"]
        ended = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    output = ended.stdout + ended.stderr
    cases = re.search(r"(\d+) generated", output)
    found = re.search(r"(\d+) unique failure", output)
    num_failures = int(found[1]) if found else int(ended.returncode != 0)
    return Findings(int(cases[1]) if cases else 0, num_failures, output)


def main() -> int:
    """Fuzz a server of our own; 0 when nothing was found."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--model", str(CHECKPOINT), "--served-name", "builtin")
        server = LiveServer(Path(folder) / "server.log", *flags).wait_until_ready()
        try:
            findings = fuzz(server.url, int(sys.argv[1]) if len(sys.argv) > 1 else NUM_CASES)
        finally:
            server.stop()
    print(findings.output)
    print(f"{findings.num_cases} cases, {findings.num_failures} failures")
    return int(findings.num_failures > 0 or findings.num_cases == 0)


if __name__ == "__main__":
    raise SystemExit(main())
