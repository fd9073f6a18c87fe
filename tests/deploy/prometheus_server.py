"""A real Prometheus with the configuration of deploy/prometheus, but for its pace and the address that it scrapes."""

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.conftest import free_ports, until
from tests.deploy.tools import DEPLOY, program

READY_S = 30
SEEN_S = 30


class Prometheus:
    """One process, scraping one server every second.

    Attributes:
        url: of its API.
    """

    def __init__(self, folder: Path, target: str) -> None:
        shutil.copytree(DEPLOY / "prometheus", folder / "config")
        path = folder / "config" / "prometheus.yml"
        config = yaml.safe_load(path.read_text())
        config["global"] = dict.fromkeys(config["global"], "1s")
        config["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
        path.write_text(yaml.safe_dump(config))
        (port,) = free_ports()
        self.url = f"http://127.0.0.1:{port}"
        self._log = folder / "log"
        flags = [f"--config.file={path}", f"--storage.tsdb.path={folder / 'data'}"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [program("prometheus"), *flags, f"--web.listen-address=127.0.0.1:{port}"], stderr=log
            )
        self._wait()

    def _wait(self) -> None:
        deadline_s = time.monotonic() + READY_S
        while True:
            try:
                if httpx.get(f"{self.url}/-/ready").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            if time.monotonic() > deadline_s or self._process.poll() is not None:
                self._process.kill()
                pytest.fail(f"Prometheus did not start:\n{self._log.read_text()}")
            time.sleep(0.1)

    def ask(self, expression: str) -> list[dict[str, Any]]:
        """Evaluate an expression now: samples with their labels."""
        answer = httpx.post(f"{self.url}/api/v1/query", data={"query": expression}).json()
        assert answer["status"] == "success", f"{expression}: {answer.get('error')}"
        samples: list[dict[str, Any]] = answer["data"]["result"]
        return samples

    def wait_for(self, expression: str) -> None:
        """Until an expression gives a sample, which a comparison does once it holds."""
        until(lambda: self.ask(expression), expression, SEEN_S)

    def get(self, path: str) -> Any:
        """Data of its API."""
        return httpx.get(f"{self.url}/api/v1/{path}").json()["data"]

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)
