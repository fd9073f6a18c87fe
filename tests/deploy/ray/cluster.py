"""A Ray cluster of this machine alone, with the Serve config that we ship: for the tests and the measurement.

Everything that it starts is in one process group, and ends with it. Token authentication is on, as a deployment has it.
"""

import contextlib
import itertools
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.conftest import ROOT, children_of, command_of, plain_environ

CONFIG = ROOT / "deploy" / "ray" / "serve.yaml"
BIN = Path(sys.executable).parent
PORTS = range(20_000, 32_000)
"""Above those of Ray's workers, and below those that Linux gives to connections: nobody takes one before Ray does."""
READY_S = 180
EMBEDDER_TITLE = "ray::ServeReplica:cenote:embedder"
SETTINGS = {"threads": "1", "dtype": "float32", "result_cache_bytes": "0", "known_answer_s": "2"}
"""As `MODEST` in tests/conftest.py: who asks twice means to have it computed twice."""


class Cluster:
    """One head node, started by `ray start` and given work by `serve run`.

    Attributes:
        url: of the Serve proxy.
        env: what its processes have.
        http: a client that is kept open.
        metrics_url: where the node's agent serves everybody's metrics.
    """

    def __init__(self, folder: Path, *, num_cpus: int = 6) -> None:
        self._folder = folder
        self.port, gcs, metrics = free_ports(3)
        self.url, self.metrics_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{metrics}/metrics"
        self.env = plain_environ() | {
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "kernels", ROOT / "deploy" / "ray"))),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ADDRESS": f"127.0.0.1:{gcs}",
            "HF_HUB_OFFLINE": "1",
        }
        self.http = httpx.Client(base_url=self.url, timeout=120)
        self._log = (folder / "ray.log").open("wb")
        self._head = self._start(
            *("ray", "start", "--head", "--block", f"--port={gcs}", f"--num-cpus={num_cpus}", "--num-gpus=0"),
            *("--node-ip-address=127.0.0.1", "--include-dashboard=false", f"--metrics-export-port={metrics}"),
            *("--object-store-memory=157286400", "--disable-usage-stats"),
            without=("RAY_ADDRESS",),
        )

    def deploy(self, *, settings: dict[str, str] | None = None, affinity: bool = True, **embedder: Any) -> None:
        """Serve the shipped config, with settings and options of the embedder changed, and wait until it is ready."""
        config = yaml.safe_load(CONFIG.read_text())
        config["http_options"]["port"] = self.port
        (application,) = config["applications"]
        application["args"]["settings"] |= SETTINGS | (settings or {})
        application["args"]["affinity"] = affinity
        (deployment,) = (one for one in application["deployments"] if one["name"] == "embedder")
        deployment["autoscaling_config"] |= embedder.pop("autoscaling_config", {})
        deployment |= embedder
        self._serve(config)

    def deploy_models(self, tables: dict[str, dict[str, Any]]) -> None:
        """Serve several models, with one replica of each."""
        config = yaml.safe_load(CONFIG.read_text())
        config["http_options"]["port"] = self.port
        (application,) = config["applications"]
        settings = application["args"]["settings"] | SETTINGS | {"models": tables}
        del settings["model"]
        application["args"]["settings"] = settings
        ingress, embedder = application["deployments"]
        del embedder["autoscaling_config"]
        each = [embedder | {"name": f"embedder-{name}", "num_replicas": 1} for name in tables]
        application["deployments"] = [ingress, *each]
        self._serve(config)

    def _serve(self, config: dict[str, Any]) -> None:
        path = self._folder / f"serve-{time.monotonic_ns()}.yaml"
        path.write_text(yaml.safe_dump(config))
        before = set(self.embedders())
        command = self._start("serve", "run", "--non-blocking", str(path))
        assert command.wait(READY_S) == 0, self.log()
        self._wait(lambda: not before & set(self.embedders()), "replace the embedders")
        self._wait(lambda: self.status("/readyz") == 200, "become ready")

    def status(self, path: str) -> int:
        """Status of a GET; 0 when nobody answers."""
        with contextlib.suppress(httpx.TransportError):
            return self.http.get(path).status_code
        return 0

    def ask(self, body: dict[str, Any], path: str = "/v1/embeddings") -> httpx.Response:
        """The answer to a POST, which must be 200."""
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, f"{path} answered {answer.status_code}: {answer.text[:500]}"
        return answer

    def embedders(self) -> list[int]:
        """Process ids of the embedder replicas of this cluster."""
        return [pid for pid in descendants_of(self._head.pid) if command_of(pid).startswith(EMBEDDER_TITLE)]

    def by_replica(self, series: str) -> Counter[str]:
        """The value of one of our series at each embedder that runs, as the node's agent serves it."""
        values: Counter[str] = Counter()
        for line in httpx.get(self.metrics_url, timeout=30).text.splitlines():
            name, _, rest = line.partition("{")
            labels, _, value = rest.rpartition("} ")
            pairs = dict(pair.split("=", 1) for pair in labels.split(",") if "=" in pair)
            if name == f"ray_{series}" and pairs.get("deployment") == '"embedder"':
                values[pairs["replica"].strip('"')] += float(value.split()[0])
        return values

    def stop(self) -> None:
        """End every process of it."""
        self.http.close()
        for pid in (*descendants_of(self._head.pid), self._head.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._head.wait()
        self._log.close()

    def log(self) -> str:
        return (self._folder / "ray.log").read_text(errors="replace")[-8000:]

    def _start(self, program: str, *arguments: str, without: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        env = {name: value for name, value in self.env.items() if name not in without}
        command = [str(BIN / program), *arguments]
        return subprocess.Popen(command, cwd=self._folder, env=env, stdout=self._log, stderr=self._log)

    def _wait(self, happened: Any, what: str) -> None:
        deadline_s = time.monotonic() + READY_S
        while not happened():
            assert time.monotonic() < deadline_s, f"the cluster did not {what}:\n{self.log()}"
            assert self._head.poll() is None, f"the head ended:\n{self.log()}"
            time.sleep(0.2)


def descendants_of(pid: int) -> list[int]:
    """Process ids of its children, theirs, and so on."""
    found, edge = [], [pid]
    while edge:
        edge = [child for parent in edge for child in children_of(parent)]
        found += edge
    return found


def free_ports(num: int) -> list[int]:
    """So many ports on which nobody listens, no two alike."""
    drawn = random.sample(PORTS, len(PORTS))
    return list(itertools.islice(filter(_is_free, drawn), num))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster for the length of the `with`."""
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.stop()
