"""The confined server's process, and a client that has its key."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.conftest import ROOT, LiveServer
from tests.deploy.confinement import first_process

STOP_S = 45
"""Of the manifests and compose.yaml: after it, the process is killed."""


class ConfinedServer(LiveServer):
    """One server inside.

    Attributes:
        metrics_url: where `/metrics` is.
        cache: the folder that is its /var/cache/cenote.
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
        self.log, self.cache, self.url = log, cache, ""
        self._is_told = False
        serve = [*program, "serve", "--port", "0", "--metrics-port", "0", "--dtype", "float32"]
        with log.open("wb") as file:
            self.process = subprocess.Popen([*confine, *serve], cwd=ROOT, env=environment, stderr=file)
        self._wait(self._is_listening, "listen")
        (self.metrics_url,) = re.findall(r"metrics on (http://\S+)", self.log.read_text())
        self.http = httpx.Client(base_url=self.url, timeout=60, headers={"authorization": f"Bearer {key}"})

    @property
    def pid(self) -> int:
        """The front's process, as seen from outside."""
        return first_process(self.process)

    def terminate(self) -> None:
        """Send the first signal of an orchestrator: a second signal ends it at once."""
        if not self._is_told and self.process.poll() is None:
            self._is_told = True
            subprocess.run(["kill", f"-{signal.SIGTERM.value}", str(self.pid)], check=True)

    def stop(self) -> int:
        """End it in the time that an orchestrator gives; its exit code."""
        self.terminate()
        return self.ended()
