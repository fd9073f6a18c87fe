"""Row 7: requests that schemathesis makes from the document, in all of its phases, with every check."""

from pathlib import Path

from tests.conftest import CHECKPOINT, LiveServer
from tests.openapi.fuzz.run import fuzz
from tests.scoreboard.line import Line, Result


def run(size: int, folder: Path) -> Result:
    flags = ("--model", str(CHECKPOINT), "--served-name", "builtin", "--log-format", "json")
    server = LiveServer(folder / "server.log", *flags).wait_until_ready()
    try:
        findings = fuzz(server.url, size)
    finally:
        server.stop()
    (folder / "schemathesis.txt").write_text(findings.output)
    return Result(findings.num_cases, findings.num_failures)


LINE = Line(
    number=7,
    name="contract_fuzz",
    measure="requests made from openapi.json, all phases of schemathesis",
    must="no 5xx, every answer as documented, nothing accepted that the document forbids",
    ci=2000,
    nightly=20_000,
    run=run,
    side_by_side=True,
)
