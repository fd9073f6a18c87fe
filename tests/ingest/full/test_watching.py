"""Progress: a bar at a terminal, one line elsewhere, JSON for programs; and a pipe answered as it comes."""

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

from tests.conftest import ROOT, LiveServer, plain_environ, until
from tests.ingest.folder import INSTRUCTIONS, asked, fill
from tests.ingest.program import COMMAND, Program, lines, ran

NUM_IMAGES = 200


def test_a_bar_at_a_terminal_shows_rate_time_left_hits_and_failures(live: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path / "in", NUM_IMAGES, seed=3)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 160))
    command = [*COMMAND, str(tmp_path / "in"), "--to", str(tmp_path / "out.jsonl"), "--server", live.url, *asked()]
    process = subprocess.Popen(command, cwd=ROOT, env=plain_environ(), stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    assert process.wait() == 3
    assert process.stdout is not None
    assert process.stdout.read() == b""
    bars = shown.decode().replace("\r", "\n").splitlines()
    assert any("vec/s" in bar and "hits=" in bar and "failed=4" in bar and "<" in bar for bar in bars), bars[-5:]
    assert "600 vectors written" in shown.decode()


def test_elsewhere_it_is_one_line(live: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id":1,"text":"a door"}\n')
    ended = ran(tmp_path / "in.jsonl", "--to", tmp_path / "out.jsonl", "--server", live.url)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (0, "", 1)
    assert ended.stderr.startswith("cenote ingest: 1 vectors written in ")


def test_lines_of_a_slow_pipe_are_embedded_as_they_come(live: LiveServer, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = [*COMMAND, "-", "--to", str(out), "--server", live.url, "--instruction", INSTRUCTIONS[0], "--json"]
    process = subprocess.Popen(command, cwd=ROOT, env=plain_environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    for number in range(3):
        process.stdin.write(json.dumps({"id": number, "text": f"door {number}"}).encode() + b"\n")
        process.stdin.flush()
        until(lambda more=number: out.exists() and len(lines(out)) > more, "the line, while it waits for the next")
    process.stdin.close()
    assert process.wait() == 0


def test_a_run_without_the_program_s_extra_says_so(tmp_path: Path) -> None:
    """httpx hidden, as where only the service is installed."""
    hidden = "import sys; sys.modules['httpx'] = None; from service.cli import main; main()"
    command = [sys.executable, "-c", hidden, "ingest", str(tmp_path), "--to", "x.jsonl"]
    ended = subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("cenote: ingest: httpx is not installed: pip install -e '.[ingest]' in the checkout")
    assert ended.stderr.count("\n") == 1


def test_json_progress_has_points_done_and_total(live: LiveServer, tmp_path: Path) -> None:
    fill(tmp_path / "in", NUM_IMAGES, seed=4)
    run = Program(tmp_path / "in", "--to", tmp_path / "out.jsonl", "--server", live.url, *asked())
    end = run.end(3)
    told = [event for event in run.events() if event["event"] == "progress"]
    assert [event["points"] for event in told] == sorted(event["points"] for event in told)
    assert all(event["total"] in (None, 3 * (NUM_IMAGES + 4)) for event in told)
    assert (end["hits"], end["misses"], end["failed"]) == (NUM_IMAGES * 2, NUM_IMAGES, 4)
