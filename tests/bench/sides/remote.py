"""A side in a process of its own, driven over a pipe (`tests/bench/pipe.py` is its other end)."""

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench.work import Work


class RemoteSide:
    """The asker's end: a `Side` whose work is done elsewhere.

    Args:
        command: starts the process; its last act before working is `answer_forever`.
        folder: where it runs.
        environ: its environment.
        log: where its stderr goes.
    """

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command, cwd=folder, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        self.facts: dict[str, Any] = self._ask(do="facts")

    def prepare(self, label: str, work: Work) -> None:
        self._ask(do="prepare", label=label, work=asdict(work))

    def run(self, label: str) -> float:
        seconds: float = self._ask(do="run", label=label)
        return seconds

    def vectors(self, label: str) -> list[NDArray[np.float32]]:
        return [np.frombuffer(base64.b64decode(row), "<f4") for row in self._ask(do="vectors", label=label)]

    def num_tokens(self, label: str) -> int:
        """Of the texts that are prepared under the label, padding not counted."""
        num: int = self._ask(do="num_tokens", label=label)
        return num

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, **question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"a side ended; its log:\n{self._log.read_text()[-2000:]}")
        said = json.loads(line)
        if "error" in said:
            raise RuntimeError(f"a side failed:\n{said['error']}")
        return said["value"]
