"""The confined server's process, and a client that has its key."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT
from tests.deploy.confinement import first_process

READY_S = 120
STOP_S = 45
"""Of the manifests and compose.yaml: after it, the process is killed."""


class ConfinedServer:
    """One server inside.

    Attributes:
        url: where it listens.
        metrics_url: where `/metrics` is.
        cache: the folder that is its /var/cache/cenote.
        log: what it wrote.
    """

    def __init__(
        self,
        log: Path,
        confine: list[str],
        environment: dict[str, str],
        key: str,
        cache: Path,
        program: tuple[str, ...] = (sys.executable, "-m", "service"),
    ) -> None:
        self.log, self.cache = log, cache
        self._is_told = False
        serve = [*program, "serve", "--port", "0", "--metrics-port", "0", "--dtype", "float32"]
        with log.open("wb") as file:
            self.process = subprocess.Popen([*confine, *serve], cwd=ROOT, env=environment, stderr=file)
        found = self._wait(lambda: re.search(r"listening on (http://\S+)", self.log.read_text()), "listen")
        self.url = found[1]
        metrics = re.search(r"metrics on (http://\S+)", self.log.read_text())
        assert metrics is not None
        self.metrics_url = metrics[1]
        self.http = httpx.Client(base_url=self.url, timeout=60, headers={"authorization": f"Bearer {key}"})

    def wait_until_ready(self) -> "ConfinedServer":
        """Return when `/readyz` says so; fail with the log when it never does."""
        self._wait(lambda: self.http.get("/readyz").status_code == 200, "become ready")
        return self

    def _wait(self, happened: Any, what: str) -> Any:
        deadline_s = time.monotonic() + READY_S
        while not (found := happened()):
            if time.monotonic() > deadline_s or self.process.poll() is not None:
                self.process.kill()
                pytest.fail(f"the confined server did not {what}:\n{self.log.read_text()}")
            time.sleep(0.1)
        return found

    @property
    def pid(self) -> int:
        """The front's process, as seen from outside."""
        return first_process(self.process)

    def terminate(self) -> None:
        """Send the first signal of an orchestrator: a second signal ends it at once."""
        if self._is_told or self.process.poll() is not None:
            return
        self._is_told = True
        subprocess.run(["kill", f"-{signal.SIGTERM.value}", str(self.pid)], check=True)

    def stop(self) -> int:
        """End it in the time that an orchestrator gives; its exit code."""
        self.terminate()
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"the confined server did not end within {STOP_S} s:\n{self.log.read_text()}")
