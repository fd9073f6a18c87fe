"""Row 7: requests that schemathesis makes from the document, in all of its phases, with every check."""

from pathlib import Path

from tests.openapi.fuzz.run import fuzz
from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.raw_http import served


@line(
    7,
    "requests made from openapi.json, all phases of schemathesis",
    "no 5xx, every answer as documented, nothing accepted that the document forbids",
    sizes=(2000, 20_000),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    with served(folder / "server.log", "--served-name", "builtin") as server:
        findings = fuzz(server.url, size)
    (folder / "schemathesis.txt").write_text(findings.output)
    return Result(findings.num_cases, findings.num_failures)
