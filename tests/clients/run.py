"""Runs every client's tests against two live servers, each in an environment of its own (`make clients`).

In: the folders beside this file; each `requirements*.txt` or `package.json` in one is an environment in which the
folder's tests run. Out: what failed, a table, and `N passed, N failed`. Environments are kept under `.clients/` for as
long as their requirements stay the same. Knows no client: what one can do, its own folder says.
"""

import hashlib
import os
import shutil
import site
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.clients.plain import LATE, MINILM, OPENAI, SAMPLES
from tests.conftest import ROOT, LiveServer
from tests.models.late.colberts import pylate

HERE = ROOT / "tests" / "clients"
PLACE = ROOT / ".clients"
NUM_INSTALLS = 2
INSTALL_LIMIT_S = 900
TESTS_LIMIT_S = 300

OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "TRANSFORMERS_OFFLINE": "1",
}
"""No telemetry and no downloads; tests/clients/conftest.py fails whatever tries all the same."""
ON_TOP_OF_OURS = ("mteb",)
"""Environments that also see the project's packages: torch need not be installed twice."""
TEXT_MODELS = """
[models.{minilm}]
model = "sentence-transformers/{minilm}"
served-name = ["{openai}"]
truncate-long-texts = "end"

[models.{late}]
model = "{folder}"
"""
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""The rest of this environment stays away: it may hold keys and addresses of the real services."""


@dataclass(frozen=True)
class Environment(ABC):
    """The packages of one client, and the tests that run with them.

    Attributes:
        packages: the file that names them.
    """

    packages: Path

    @property
    def name(self) -> str:
        return self.packages.parent.name

    @property
    def folder(self) -> Path:
        return PLACE / self.name

    @property
    def report(self) -> Path:
        return PLACE / f"{self.name}.xml"

    def install(self) -> str:
        """Make it, or keep the one that is there. Returns what went wrong, or nothing."""
        stamp, wanted = self.folder / "installed", hashlib.sha256(self.packages.read_bytes()).hexdigest()
        if stamp.exists() and stamp.read_text() == wanted:
            return ""
        try:
            self._make()
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            return f"{self.name} could not be installed:\n{(error.stdout or b'').decode()}"
        stamp.write_text(wanted)
        return ""

    def run_tests(self, url: str, texts_url: str) -> None:
        """Run its tests; what they found is in `report`."""
        self.report.unlink(missing_ok=True)
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        urls = {"CENOTE_TEST_URL": url, "CENOTE_TEST_TEXTS_URL": texts_url}
        environ = kept | OFFLINE | urls | {"HOME": str(self.folder)}
        try:
            self._test(environ)
        except subprocess.TimeoutExpired:
            print(f"{self.name}: no end after {TESTS_LIMIT_S} s")

    def counts(self) -> tuple[int, int]:
        """Numbers of passed and failed tests; those that never ran to their end are one failure."""
        if not self.report.exists():
            return 0, 1
        cases = [{child.tag for child in case} for case in ET.parse(self.report).getroot().iter("testcase")]
        num_failed = sum(bool(tags & {"failure", "error"}) for tags in cases)
        num_skipped = sum("skipped" in tags for tags in cases)
        return len(cases) - num_failed - num_skipped, num_failed if cases else 1

    @abstractmethod
    def _make(self) -> None:
        """Install the packages into `folder`, from nothing."""

    @abstractmethod
    def _test(self, environ: dict[str, str]) -> None:
        """Run the tests with these variables and no others."""


class PythonEnvironment(Environment):
    """A virtual environment, and pytest in it."""

    @property
    def name(self) -> str:
        """The folder's name, and what follows `requirements` in the file's."""
        return self.packages.parent.name + self.packages.stem.removeprefix("requirements")

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def _make(self) -> None:
        _quietly(sys.executable, "-m", "venv", "--clear", "--without-pip", str(self.folder))
        install = ("install", "--quiet", "--requirement", str(self.packages))
        if self.name not in ON_TOP_OF_OURS:
            _quietly(sys.executable, "-m", "uv", "pip", *install, "--python", str(self.python))
            return
        (packages,) = self.folder.glob("lib/python*/site-packages")
        (packages / "ours.pth").write_text(f"import site; site.addsitedir({site.getsitepackages()[0]!r})\n")
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self.python))
        _quietly(*pip, *install, "--no-compile")  # uv would not see what ours has

    def _test(self, environ: dict[str, str]) -> None:
        pytest = [str(self.python), "-m", "pytest", "-c", str(HERE / "pytest.ini"), "--rootdir", str(ROOT)]
        options = ["-p", "no:cacheprovider", f"--junit-xml={self.report}", str(self.packages.parent)]
        subprocess.run(pytest + options, cwd=ROOT, env=environ, timeout=TESTS_LIMIT_S, check=False)


class NodeEnvironment(Environment):
    """A folder of npm's with a copy of the tests: Node.js looks for packages beside the file that imports them."""

    def _make(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(self.packages.with_name(name), self.folder)
        _quietly("npm", "ci", "--no-audit", "--no-fund", "--prefix", str(self.folder))

    def _test(self, environ: dict[str, str]) -> None:
        for source in self.packages.parent.glob("*.mjs"):
            shutil.copy(source, self.folder)
        files = sorted(str(path) for path in self.folder.glob("*.test.mjs"))
        reporters = ["spec", "stdout", "junit", str(self.report)]
        flags = [
            f"--test-reporter{kind}={value}" for kind, value in zip(("", "-destination") * 2, reporters, strict=True)
        ]
        environ |= {"CENOTE_CLIENTS_PAGE": str(ROOT / "docs" / "clients.md"), "CENOTE_SAMPLES": str(SAMPLES)}
        subprocess.run(["node", "--test", *flags, *files], env=environ, timeout=TESTS_LIMIT_S, check=False)


def _quietly(*command: str) -> None:
    kind = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    subprocess.run(command, check=True, timeout=INSTALL_LIMIT_S, **kind)  # type: ignore[call-overload]


def environments(names: list[str]) -> list[Environment]:
    """Those with these names, or all."""
    python = [PythonEnvironment(path) for path in HERE.glob("*/requirements*.txt")]
    node = [NodeEnvironment(path) for path in HERE.glob("*/package.json")]
    found = sorted((*python, *node), key=lambda each: each.name)
    return [environment for environment in found if not names or environment.name in names]


def main() -> int:
    """Run them all, or those named on the command line; 0 when nothing failed."""
    PLACE.mkdir(exist_ok=True)
    chosen = environments(sys.argv[1:])
    started_s = time.monotonic()
    servers: list[LiveServer] = []
    with ThreadPoolExecutor(NUM_INSTALLS) as pool:
        troubles = dict(zip(chosen, pool.map(lambda each: each.install(), chosen), strict=True))
    print(f"{len(chosen)} environments ready after {time.monotonic() - started_s:.0f} s", flush=True)
    with ExitStack() as stack:
        for name, flags in {"server": (), "texts": text_models()}.items():
            server = LiveServer(PLACE / f"{name}.log", *flags)
            stack.callback(server.stop)
            servers.append(server)
        urls = [server.wait_until_ready().url for server in servers]
        for environment in chosen:
            print(f"\n{environment.name}", troubles[environment], flush=True)
            if not troubles[environment]:
                environment.run_tests(*urls)
    return close(chosen, troubles)


def text_models() -> tuple[str, str]:
    """Flags of a server of texts: one model whose longer texts are cut, and one with a vector for each token."""
    shutil.rmtree(late := PLACE / LATE, ignore_errors=True)
    pylate("bert", late)
    config = PLACE / "texts.toml"
    config.write_text(TEXT_MODELS.format(minilm=MINILM, openai=OPENAI, late=LATE, folder=late))
    return "--config", str(config)


def close(chosen: list[Environment], troubles: dict[Environment, str]) -> int:
    """Print the table and the closing line."""
    counts = {environment: (0, 1) if troubles[environment] else environment.counts() for environment in chosen}
    print()
    for environment, (passed, failed) in counts.items():
        print(f"{environment.name:20} {passed:3} passed {failed:3} failed")
    passed, failed = (sum(column) for column in zip(*counts.values(), strict=True)) if counts else (0, 1)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
