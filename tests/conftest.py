"""The real server for every test that needs one: `python -m service serve` in a process of its own, once per session.

Nothing here stands in for a part of the service. What a test sends goes through a socket, both processes and the
oracle's weights.
"""

import base64
import gc
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from tests.at_start.environ import customized_environ

if "PYTEST_XDIST_WORKER" in os.environ:
    # Before torch is imported. Workers share the cores, and libgomp's threads spin for one that has none.
    os.environ["OMP_NUM_THREADS"] = "1"


def pytest_sessionstart() -> None:
    """Collect no garbage while the tests are imported."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave all that is imported out of all garbage collections: each would look through it, for half a second."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much a run has not tried for want of instructions: skips are hidden otherwise."""
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    for reason, num in Counter(one for one in reasons if "no AVX-512 kernel" in one).items():
        terminalreporter.write_line(f"{num} tests skipped: {reason.removeprefix('Skipped: ')}")


UNITS = {
    **{f"tests/journey/test_{name}.py": "builtin" for name in ("builtin", "from_vllm", "int8", "recipes", "reference")},
    **dict.fromkeys(("tests/ingest/", "tests/models/over_http/", "tests/models/part_order/test_other"), "builtin"),
    **dict.fromkeys(("tests/journey/", "tests/service/http/", "tests/models/golden/"), "server"),
    **dict.fromkeys(("tests/test_house", "tests/test_architecture"), "house"),
    **dict.fromkeys(("tests/models/text/test_late_chunking", "tests/models/part_order/test_qwen3_vl"), "server"),
}
"""Files that share what is made once in a process, by how their paths begin: those of a unit are one worker's."""


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By file, but for `UNITS`: each server that many ask is started once. Nearly all slow tests have their own."""
    from xdist.scheduler import LoadFileScheduling

    class ByUnit(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            units = (unit for start, unit in UNITS.items() if nodeid.startswith(start))
            return next(units, super()._split_scope(nodeid))

    return ByUnit(config, log) if config.getoption("markexpr") == "not slow" else None


collect_ignore = ["clients"]
"""Run by `make clients`, each client's tests in an environment of their own."""

ROOT = Path(__file__).parents[1]
ORACLE = ROOT / "tests" / "models" / "golden" / "oracle"
CHECKPOINT = ORACLE / "checkpoint"

MODEST = (
    *("--dtype", "float32", "--threads", "1", "--lame-duck-s", "0", "--result-cache-bytes", "0"),
    *("--prefix-cache-bytes", "0", "--known-answer-s", "3600", "--decode-workers", "1"),
)
"""One thread: several servers share two cores, and threads that wait for each other's turn cost more than they give.

No lame duck: nobody routes to these servers, and each would take 10 s longer to stop. No result cache: who asks twice
here means to have it computed twice; a test of that cache says so with a flag of its own. No prefix cache: a prompt by
itself has the same bits each time. The known question is asked at the start and not again: it would be counted among
the steps that a test counts, and a request that shares its step with it has other bits. One decoder's process, and one
for small images: each takes a third of a second to start.
"""
SERVER_FLAGS = "TEST_SERVER_FLAGS"
"""Environment variable with flags for every server that is started, such as `--fronts 2`."""
READY_S = 120
STOP_S = 40
WAIT_S = 60
TOLERANCE = 1e-5


class LiveServer:
    """One server process.

    Attributes:
        url: where it listens.
        log: file with everything that it and its engine wrote.
        process: the front.
        http: a client that is kept open.
    """

    def __init__(self, log: Path, *flags: str, env: dict[str, str] | None = None, names_a_model: bool = True) -> None:
        self.log = log
        everywhere = os.environ.get(SERVER_FLAGS, "").split()
        if names_a_model and {"--model", "--config"}.isdisjoint(flags):
            flags = ("--model", "builtin", *flags)  # one engine, whatever else could be served
        command = [sys.executable, "-m", "service", "serve", "--port", "0", *MODEST, *everywhere, *flags]
        environ = plain_environ() | customized_environ() | (env or {})
        with log.open("wb") as file:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environ, stderr=file)
        self.url = ""
        self._wait(self._is_listening, "listen")
        self.http = httpx.Client(base_url=self.url, timeout=120)

    def wait_until_ready(self) -> "LiveServer":
        """Return when `/readyz` says so; fail with the log when it never does."""
        self._wait(lambda: self.status("/readyz") == 200, "become ready")
        return self

    def _wait(self, happened: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + READY_S
        while not happened():
            if time.monotonic() > deadline_s or self.process.poll() is not None:
                self.process.kill()
                self.process.wait()
                pytest.fail(f"the server did not {what}; its log:\n{self.log.read_text()}")
            time.sleep(0.05)

    def _is_listening(self) -> bool:
        found = re.search(r"listening on (http://\S+)", self.log.read_text())
        self.url = found[1] if found else ""
        return bool(self.url)

    def log_lines(self) -> list[str]:
        """Lines of the log. The last one is left out while it is being written: a reader can meet half of a write."""
        return self.log.read_text().rpartition("\n")[0].splitlines()

    def status(self, path: str) -> int:
        """Status of a GET; 0 when nobody answers."""
        try:
            return self.http.get(path).status_code
        except httpx.TransportError:
            return 0

    def ask(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """The answer to a POST, which must be 200."""
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, f"{path} answered {answer.status_code}: {answer.text[:500]}"
        return answer

    def refusal(self, path: str, body: Any, status: int = 400) -> dict[str, Any]:
        """The error of a POST, which must have this status."""
        answer = self.http.post(path, json=body)
        assert answer.status_code == status, f"{path} answered {answer.status_code}: {answer.text[:500]}"
        error: dict[str, Any] = answer.json()["error"]
        return error

    def vectors(self, body: dict[str, Any]) -> np.ndarray:
        """Every vector of a `/v1/embeddings` request, bit for bit, in order."""
        data = self.ask("/v1/embeddings", body | {"encoding_format": "base64"}).json()["data"]
        assert [entry["index"] for entry in data] == list(range(len(data)))
        return np.stack([from_base64(entry["embedding"]) for entry in data])

    def metric(self, name: str, **labels: str) -> float:
        """The sum over a metric's series that have these labels, with any others."""
        lines = self.http.get("/metrics").text.splitlines()
        asked = "\n".join(line for line in lines if line.startswith((f"{name} ", f"{name}{{")))
        samples = [one for family in text_string_to_metric_families(asked) for one in family.samples]
        values = [one.value for one in samples if labels.items() <= one.labels.items()]
        assert values, f"/metrics has no {name} with {labels}"
        return sum(values)

    def engine_pid(self, model: str = "") -> int:
        """Process id of the engine that runs now, of the model of that name; 0 when there is none."""
        words = f"service.engine.worker {model}"
        return next((pid for pid in children_of(self.process.pid) if words in command_of(pid)), 0)

    def stop(self) -> int:
        """End it as an orchestrator would; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            pytest.fail(f"the server did not end within {STOP_S} s; its log:\n{self.log.read_text()}")
        finally:
            self.http.close()


def until(happened: Callable[[], Any], what: str, seconds: float = WAIT_S) -> None:
    """Return once it has happened; fail when it never does."""
    deadline_s = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline_s, f"never came: {what}"
        time.sleep(0.02)


class Gained:
    """Gain of a server's metrics since the making of this, each over all of its series: `gained("streams")`."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._before = self._read()

    def _read(self) -> dict[str, float]:
        sums: defaultdict[str, float] = defaultdict(float)
        for line in self._server.http.get("/metrics").text.splitlines():
            if not line.startswith("#"):
                sums[re.split("[{ ]", line, maxsplit=1)[0]] += float(line.rpartition(" ")[2])
        return sums

    def __call__(self, name: str) -> int:
        return int(self._read()[f"cenote_{name}"] - self._before[f"cenote_{name}"])


def plain_environ() -> dict[str, str]:
    """This environment without settings of the service, and without what is set above for this process alone."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("CENOTE_", "OMP_NUM_THREADS"))}


def children_of(parent: int) -> list[int]:
    """Running child processes; slim images have no `ps`, and macOS no `/proc`."""
    if Path("/proc/self/stat").exists():
        fields = {int(path.parent.name): _stat(path) for path in Path("/proc").glob("[0-9]*/stat")}
        return [pid for pid, stat in fields.items() if stat[1:2] == [str(parent)] and stat[0] != "Z"]
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in table.splitlines()]
    return [pid for pid, ppid in pairs if ppid == parent]


def command_of(pid: int) -> str:
    """The command line of a process; nothing when it has ended."""
    path = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self/stat").exists():
        try:
            return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    return subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


def _stat(path: Path) -> list[str]:
    """State, parent and the rest of a process; nothing when it has just ended."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def from_base64(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def data_uri(encoded: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{base64.b64encode(encoded).decode()}"


def image(seed: int, width: int = 96, height: int = 64, kind: str = "PNG") -> str:
    """A data URI of colored blocks that no other seed gives."""
    blocks = np.random.default_rng(seed).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(blocks).resize((width, height), Image.Resampling.NEAREST).save(buffer, kind)
    return data_uri(buffer.getvalue(), kind.lower())


def image_part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def frames_part(urls: list[str], **fields: Any) -> dict[str, Any]:
    return {"type": "video_frames", "frames": [{"url": url} for url in urls], **fields}


def inputs(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A body with an input for each part."""
    return {"inputs": [{"content": [part]} for part in parts], **fields}


def free_ports(num: int = 1) -> list[int]:
    """Ports on which nobody listens."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(num)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., LiveServer]]:
    started: list[LiveServer] = []

    def start(*flags: str, **more: Any) -> LiveServer:
        started.append(LiveServer(tmp_path_factory.mktemp("server") / "log", *flags, **more))
        return started[-1]

    yield start
    running = [server for server in started if server.process.poll() is None]
    for server in running:
        server.process.send_signal(signal.SIGTERM)
    for server in running:
        server.ended()


start_server = pytest.fixture(_servers, scope="module", name="start_server")
"""Starts servers, which end with the tests of their file: one that idles still asks its engine how it is."""

start_for_all = pytest.fixture(_servers, scope="session", name="start_for_all")
"""The same for those that many files ask."""


@pytest.fixture(scope="session")
def server(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The oracle's weights with every default, under the name that the document's examples use."""
    return start_for_all("--model", str(CHECKPOINT), "--served-name", "builtin").wait_until_ready()


@pytest.fixture(scope="session")
def bare_server(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The same without an encoder cache, and lenient about unknown fields."""
    flags = ("--model", str(CHECKPOINT), "--encoder-cache-bytes", "0", "--unknown-fields", "ignore")
    return start_for_all(*flags).wait_until_ready()


@pytest.fixture(scope="session")
def keeping(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The same that keeps vectors: asked twice it gives the same bits, whoever else stood in the batch."""
    flags = ("--served-name", "builtin", "--result-cache-bytes", "1MiB")
    return start_for_all("--model", str(CHECKPOINT), *flags).wait_until_ready()


@pytest.fixture(scope="session")
def sparse(start_for_all: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    """A small random SPLADE, for the routes that no dense model answers."""
    from tests.models.sparse.checkpoints import splade  # it imports sentence-transformers, which takes seconds

    return start_for_all("--model", str(splade("bert", tmp_path_factory.mktemp("splade")))).wait_until_ready()


@pytest.fixture(scope="session")
def serving(request: pytest.FixtureRequest) -> Callable[[str], LiveServer]:
    """The server of what a text is about: the built-in model, or a sparse one where it names a route for these."""
    return lambda text: request.getfixturevalue("sparse" if "/embed_sparse" in text else "builtin")


@pytest.fixture(scope="session")
def builtin(start_for_all: Callable[..., LiveServer]) -> LiveServer:
    """The built-in model, as the README serves it."""
    return start_for_all("--model", "builtin").wait_until_ready()
