"""A stranger's first day: from a new clone in a new environment to a question answered by one of 200 Markdown files.

`make first-day`, or `python tests/release/first_day.py [FOLDER]`. Every command is one of
docs/recipes/search-documents.md, whose own notes lie among the others; the clone is of what is committed. Needs nothing
but Python, git and make.
"""

import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECIPE = "docs/recipes/search-documents.md"
ADDRESS = "http://127.0.0.1:8000"
NUM_FILES = 200
MAX_COMMANDS = 6
ENOUGH_WORDS = 30
READY_S = 900


def main() -> None:
    """Run it, and print what it took."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        _run(Path(folder))


def _run(folder: Path) -> None:
    start_s, clone = time.monotonic(), folder / "cenote"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    page = (clone / RECIPE).read_text()
    serve, install, write, ingest, ask = re.findall(r"^```(?:sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert serve == "make serve\n"
    url = f"http://127.0.0.1:{_free_port()}"
    log = folder / "log"
    with log.open("w") as file:  # as the page has it, but for a port that may be taken
        server = subprocess.Popen(["make", "serve", f"ARGS=--port {url.rpartition(':')[2]}"], cwd=clone, stderr=file)
    try:
        _wait_for(url, server, log)
        _tell(start_s, "the server is ready")
        for step, command in (("installed", install), ("notes", write), ("ingested", ingest)):
            if command is ingest:
                _write_notes(clone)
            subprocess.run(["sh", "-ec", command.replace(ADDRESS, url)], cwd=clone, check=True)
            _tell(start_s, step)
        (clone / "ask.py").write_text(ask.replace(ADDRESS, url))
        asked = subprocess.run([".venv/bin/python", "ask.py"], cwd=clone, check=True, capture_output=True, text=True)
    finally:
        server.terminate()
        server.wait(60)
    best, wanted = (lines.split()[1] for lines in (asked.stdout, shown))
    num_files, num_commands = len([*(clone / "notes").iterdir()]), len(["clone", serve, install, write, ingest, ask])
    print(f"{num_commands} commands, {num_files} files, answered by {best}, {time.monotonic() - start_s:.0f} s")
    assert (best, num_files) == (wanted, NUM_FILES), asked.stdout
    assert num_commands <= MAX_COMMANDS


def _write_notes(clone: Path) -> None:
    """Sections of this repository's pages, beside the notes of the recipe."""
    notes = clone / "notes"
    for path in sorted((clone / "docs").rglob("*.md")):
        for number, section in enumerate(re.split(r"^(?=##+ )", path.read_text(), flags=re.MULTILINE)):
            if (
                len([*notes.iterdir()]) < NUM_FILES
                and len(section.split()) >= ENOUGH_WORDS
                and path.stem != "search-documents"
            ):
                (notes / f"{path.parent.name}-{path.stem}-{number}.md").write_text(section)


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline_s = time.monotonic() + READY_S
    while time.monotonic() < deadline_s and server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/readyz").close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    sys.exit(f"the server did not become ready:\n{log.read_text()}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _tell(start_s: float, what: str) -> None:
    print(f"{time.monotonic() - start_s:6.1f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
