"""The shape of the repository holds: who may import what, and what may not grow."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.house.figures import nodes, parsed

MAX_LINES = 400
SERVED = ("schemas", "service", "kernels/cenote_kernels", "kernels/cenote_native")
OUR_PACKAGES = (*SERVED, "deploy/ray/cenote_ray", "deploy/builtin/cenote_builtin")
WITH_TORCH = ("service.engine", "service.model", "cenote_kernels")
"""Packages that only the engine process imports, but for the folders in `WITHOUT_TORCH`."""
WITHOUT_TORCH = ("service.engine.encoder_cache", "service.engine.scheduling", "service.engine.loop")
"""Parts of the engine that are plain Python."""


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders or OUR_PACKAGES:
        yield from sorted((ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removeprefix("kernels.").removesuffix(".__init__")


def front_modules() -> list[str]:
    names = [module_name(path) for path in sources(*SERVED) if path.name != "__main__.py"]
    return [name for name in names if name.startswith(WITHOUT_TORCH) or not name.startswith(WITH_TORCH)]


def test_the_front_imports_neither_torch_nor_transformers() -> None:
    names = front_modules()
    assert {"service.cli", "service.app", "service.http.routes.embeddings", "schemas.parsing.decode"} <= set(names)
    script = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        "    heavy = {'torch', 'transformers', 'tensorflow', 'jax'} & set(sys.modules)\n"
        "    assert not heavy, f'{name} imports {heavy}'\n"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("service.cli", {"service.app", "service.ipc", "asyncio", "numpy", "PIL", "litestar", "uvicorn", "httpx"}),
        ("service.serve", {"service.processes", "service.ingest", "service.openapi", "scipy", "pandas", "httpx"}),
    ],
)
def test_a_start_imports_nothing_that_can_wait(module: str, others: set[str]) -> None:
    """The engine's process is started before the front is imported; a hub's client is for who downloads."""
    others |= {"huggingface_hub", "opentelemetry", "redis", "av", "pypdfium2", "jinja2.sandbox"}
    script = f"import {module}, sys; print(*{others!r} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_neither_the_tests_nor_the_shelf_is_a_package() -> None:
    """A package called `kernels` would shadow Hugging Face's; `tests.kernels` would do the same from a test."""
    assert list((ROOT / "tests").rglob("__init__.py")) == []
    assert not (ROOT / "kernels" / "__init__.py").exists()
    packages = {path.parent.name for path in (ROOT / "kernels").glob("*/__init__.py")}
    assert packages == {"cenote_kernels", "cenote_native"}


@pytest.mark.parametrize("name", ["schemas", "service", "cenote_kernels", "cenote_native"])
def test_no_other_distribution_claims_our_names(name: str) -> None:
    assert set(packages_distributions().get(name, ["cenote"])) == {"cenote"}


def test_no_file_outgrows_its_concept() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources()}
    assert len(lengths) > 50
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_what_a_test_imports_of_another_file_stands_there() -> None:
    """Also where only a make target of its own would collect it (npm, Debian's packages, minutes)."""
    for path in sources("tests"):
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                file = ROOT.joinpath(*str(node.module).split(".")).with_suffix(".py")
                names = {alias.name for alias in node.names}
                assert not file.exists() or names <= top_names(file), (path, node.module, names - top_names(file))


def test_every_module_says_what_it_is() -> None:
    silent = [str(path) for path in sources() if path.read_text().strip() and not ast.get_docstring(parsed(path))]
    assert silent == []


def test_the_wire_imports_nothing_but_msgspec_and_the_standard_library() -> None:
    allowed = {*sys.stdlib_module_names, "msgspec", "schemas"}
    for path in sources("schemas"):
        assert {name.partition(".")[0] for name in imports(path)} <= allowed, path


def test_nothing_ours_imports_what_the_issue_forbids() -> None:
    forbidden = {"pydantic", "torchvision", "qwen_vl_utils", "requests", "pickle"}
    for path in sources():
        assert not {name.partition(".")[0] for name in imports(path)} & forbidden, path


def test_only_the_fetcher_opens_connections_to_the_outside() -> None:
    """The others speak over a socket pair; `huggingface_hub` looks for a model, before any request."""
    clients = {
        "socket",
        "h11",
        "httpx",
        "httpcore",
        "requests",
        "urllib3",
        "aiohttp",
        "ftplib",
        "huggingface_hub",
        "redis",
    }
    processes = {str(path.relative_to(ROOT)) for path in sources("service/processes") if "socket" in imports(path)}
    hub = {str(path.relative_to(ROOT)) for path in sources("service/front/hub") if "socket" in imports(path)}
    found = {path: clients & {name.partition(".")[0] for name in imports(path)} for path in sources()}
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {
        "service/media/fetch/connection.py": {"socket"},
        "service/media/fetch/exchange.py": {"h11"},
        "service/engine/engine.py": {"socket"},
        "service/engine/front_line.py": {"socket"},
        "service/engine/worker.py": {"socket"},
        **{path: {"socket"} for path in processes},
        **{path: {"socket"} for path in hub},
        "service/front/engine_client/engine_follower.py": {"socket"},
        "service/front/engine_client/front_link.py": {"socket"},
        "service/ipc/descriptors.py": {"socket"},
        "service/http/server/server.py": {"socket"},
        "service/ipc/channel.py": {"socket"},
        "service/http/server/connection.py": {"socket", "h11"},
        "service/http/server/http1.py": {"h11"},
        "service/http/server/pacing.py": {"socket"},
        "service/http/server/listening.py": {"socket"},
        "service/workers/serve.py": {"socket"},
        "service/workers/worker_process.py": {"socket"},
        "service/checkpoint/hub.py": {"huggingface_hub"},
        "service/ingest/sending/client.py": {"httpx"},  # the user's client program
        "service/engine/shared_tiers/valkey.py": {"redis"},  # to the operator's server, from an extra
        "service/front/engine_client/vector_store.py": {"redis"},  # likewise
    }
    whole = {path.name for path in sources() if {"urllib.request", "http.client"} & {*imports(path)}}
    assert whole == set()


@cache
@cache
def top_names(path: Path) -> set[str]:
    """Names that a file defines or imports, wherever in it."""
    found = {node.id for node in nodes(path) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return found


def imports(path: Path) -> list[str]:
    names = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return names
