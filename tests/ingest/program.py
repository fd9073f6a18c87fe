"""`cenote ingest` as a process of its own, as its users run it: started, watched, killed, ended."""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tests.conftest import ROOT, children_of, plain_environ

COMMAND = (sys.executable, "-m", "service", "ingest")
END_S = 900
"""A run that hangs; 3,000 texts take 170 s on two slow cores, and twice that beside other work."""


def ran(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """One whole run, and what it printed for a person."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, check=False)


class Program:
    """One run.

    Attributes:
        process: the program.
        rss_bytes: resident memory of it and its processes, sampled all the while.
    """

    def __init__(self, *arguments: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None) -> None:
        self._stdout = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the test looks
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the test looks
        self.rss_bytes: list[int] = []
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments), "--json"],
            cwd=ROOT, env=plain_environ() | (env or {}), stdout=self._stdout, stderr=self._stderr,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        )  # fmt: skip
        if stdin is not None:
            assert self.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended without reading
                self.process.stdin.write(stdin)
                self.process.stdin.close()
        threading.Thread(target=self._sample, daemon=True).start()

    def events(self) -> list[dict[str, Any]]:
        """Events that it has printed so far, in whole lines."""
        whole, _, _ = _so_far(self._stdout).rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def stderr(self) -> str:
        return _so_far(self._stderr).decode(errors="replace")

    def kill_when(self, happened: Callable[[], bool]) -> None:
        """SIGKILL, once `happened`; it must still run then."""
        deadline_s = time.monotonic() + END_S
        while not happened():
            assert self.process.poll() is None, f"it had ended: {self.events()[-1:]} {self.stderr()}"
            assert time.monotonic() < deadline_s, "it never came so far"
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.05))  # between two writes, in the middle of one, or before a mark
        self.process.kill()
        assert self.process.wait() == -9

    def end(self, code: int = 0) -> dict[str, Any]:
        """Its last event, when it has ended with this exit code."""
        assert self.process.wait(END_S) == code, f"{self.process.returncode}: {self.events()[-1:]} {self.stderr()}"
        assert "Traceback" not in self.stderr()
        last = self.events()[-1]
        assert (last["event"], last["exit_code"]) == ("end", code)
        return last

    def growth(self, written: Callable[[], int]) -> int:
        """Bytes of memory from the highest while it writes the first quarter to the highest in the last; at its end.

        Before the first is written, it only imports.
        """
        seen, deadline_s = [], time.monotonic() + END_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s, f"it does not end: {self.events()[-1:]} {self.stderr()}"
            time.sleep(0.05)
            seen += [(amount, self.rss_bytes[-1]) for amount in [written()] if amount]
        assert seen, f"it wrote nothing: {self.stderr()}"
        (first, _), (total, _) = seen[0], seen[-1]
        early = max(rss for amount, rss in seen if amount <= max(first, total / 4))
        late = max(rss for amount, rss in seen if amount >= total * 3 / 4)
        most = max(self.rss_bytes)
        print(f"MiB of RSS: {early >> 20} in the first quarter, {late >> 20} in the last, at most {most >> 20}")
        return late - early

    def _sample(self) -> None:
        while self.process.poll() is None:
            pids = (self.process.pid, *children_of(self.process.pid))
            self.rss_bytes.append(sum(map(_rss_bytes, pids)))
            time.sleep(0.1)


def _rss_bytes(pid: int) -> int:
    """Resident memory; 0 of a process that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))


def _so_far(file: IO[bytes]) -> bytes:
    """All that is in it; the program writes where the offset is, which it shares with us, so nobody may move that."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_id(path: Path) -> dict[str, dict[str, Any]]:
    """The same by id, each id once."""
    found = {line["id"]: line for line in lines(path)}
    assert len(found) == len(lines(path))
    return found
