"""The service itself, as users start it: `cenote serve` in processes of its own, asked over HTTP."""

import subprocess
import sys
from pathlib import Path

from tests.bench.sides.over_http import OverHttp
from tests.conftest import ROOT, LiveServer

UNCACHED = {"result_cache_bytes": "0"}
"""Settings that would answer the same question from memory; the bench asks it many times to measure its cost."""


class Service(OverHttp):
    """A live server.

    Attributes:
        server: for its metrics and its processes.
    """

    def __init__(self, model: str, num_threads: int, log: Path, *flags: str) -> None:
        self.server = LiveServer(log, "--model", model, "--threads", str(num_threads), *_uncached(), *flags)
        self.server.wait_until_ready()
        super().__init__(self.server.url)

    def close(self) -> None:
        super().close()
        self.server.stop()


def _uncached() -> list[str]:
    """Flags for those of `UNCACHED` that this release has."""
    command = [sys.executable, "-m", "service", "serve", "--help"]
    offered = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    flags = [(f"--{name.replace('_', '-')}", value) for name, value in UNCACHED.items()]
    return [word for flag, value in flags if flag in offered for word in (flag, value)]
