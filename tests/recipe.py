"""A page of docs/recipes, run as it is printed.

In: a page, a server's address, a folder to work in. Out: the names that the page's Python defined. Blocks run in order:
`sh` in a shell, `python` in one module for the whole page; a `text` block is what the Python before it has to print.
A page that starts a server of its own has a block for it, which `serve_flags` reads and the test has started.
Only the standard library, since clients' environments have nothing else.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "docs" / "recipes"
ADDRESS = "http://127.0.0.1:8000"
"""Where the pages say that the server is."""

PYTHON, CENOTE = ".venv/bin/python", ".venv/bin/cenote"
"""Programs of the pages' commands; here the Python that runs the test, and its `cenote`."""

_SERVE = f"{CENOTE} serve "

_ELSEWHERE = ("make serve", ".venv/bin/pip install")
"""Commands that others run: `make first-day`, which has an environment of its own."""

TOLERANCE = 0.02
"""By how much a number with a point may differ from what is printed: scores depend on the machine, ranks do not."""

_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_DECIMAL = re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True)
class Block:
    """A block of code, and the line of the page that it starts on."""

    language: str
    code: str
    line: int


def blocks(page: str) -> list[Block]:
    """The blocks of a page that are run, or compared."""
    text = (RECIPES / page).read_text()
    return [Block(found[1], found[2], text[: found.start(2)].count("\n")) for found in _BLOCK.finditer(text)]


def serve_flags(page: str) -> list[str]:
    """The flags of the server that a page has its reader start."""
    (command,) = [block.code for block in blocks(page) if block.code.startswith(_SERVE)]
    return shlex.split(command.removeprefix(_SERVE))


def run(page: str, url: str, folder: Path) -> dict[str, Any]:
    """Run a page's blocks; fail where one fails, or prints something else than the page says.

    Args:
        page: name of the file.
        url: the live server's, in place of the page's own address.
        folder: becomes the working directory.

    Returns:
        The names of the page's module.
    """
    module = types.ModuleType(f"recipe_{page.removesuffix('.md').replace('-', '_')}")
    sys.modules[module.__name__] = module  # classes look for the module that they are defined in
    said = io.StringIO()
    with contextlib.chdir(folder):
        for block in blocks(page):
            code = block.code.replace(ADDRESS, url)
            if code.startswith((_SERVE, *_ELSEWHERE)):
                continue
            if block.language == "sh":
                _run_shell(code)
            elif block.language == "python":
                located = "\n" * block.line + code  # so that a traceback names the page's own lines
                with contextlib.redirect_stdout(said):
                    exec(compile(located, str(RECIPES / page), "exec"), module.__dict__)
            else:
                assert_printed(said.getvalue(), block.code, f"{page}:{block.line}")
                said = io.StringIO()
    assert not said.getvalue(), f"{page} prints what it does not show: {said.getvalue()}"
    return module.__dict__


def _run_shell(code: str) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "kernels", ROOT / "deploy" / "builtin")))}
    commands = re.sub(rf"^{re.escape(CENOTE)}\b", f"{PYTHON} -m service", code, flags=re.MULTILINE)
    subprocess.run(["sh", "-ec", commands.replace(PYTHON, sys.executable)], env=os.environ | paths, check=True)


def assert_printed(got: str, want: str, place: str) -> None:
    """Equal, but for the last digits of numbers with a point."""
    assert _DECIMAL.sub("#", got) == _DECIMAL.sub("#", want), f"{place}: printed\n{got}"
    pairs = zip(map(float, _DECIMAL.findall(got)), map(float, _DECIMAL.findall(want)), strict=True)
    assert all(abs(one - other) <= TOLERANCE for one, other in pairs), f"{place}: printed\n{got}"
