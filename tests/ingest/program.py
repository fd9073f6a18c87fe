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

from tests.conftest import ROOT, plain_environ

END_S = 300


class Program:
    """One run.

    Attributes:
        process: the program.
        rss_bytes: its resident memory, sampled all the while.
    """

    def __init__(self, *arguments: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None) -> None:
        self._stdout = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the test looks
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the test looks
        self.rss_bytes: list[int] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "service", "ingest", *map(str, arguments), "--json"],
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

    def _sample(self) -> None:
        status = Path(f"/proc/{self.process.pid}/status")
        while self.process.poll() is None and status.exists():
            lines = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
            self.rss_bytes += [int(line.split()[1]) << 10 for line in lines]
            time.sleep(0.1)


def _so_far(file: IO[bytes]) -> bytes:
    """All that is in it; the program writes where the offset is, which it shares with us, so nobody may move that."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def dead_letters(path: Path) -> dict[str, dict[str, Any]]:
    """The lines by id, each id once."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines)
    return {line["id"]: line for line in lines}
