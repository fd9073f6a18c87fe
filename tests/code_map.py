"""Writes docs/map.md, every module of the product with the first line of its docstring: `make docs`.

In: the source tree, read and never imported. Out: Markdown, a table for each package.
"""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "map.md"
TREES = ("schemas", "service", "kernels/cenote_kernels", "kernels/cenote_native")

HEAD = """# The map

Every module with the first line of its docstring, made by `make docs`. [The architecture](architecture.md) says how a
request goes through them.
"""


def code_map() -> str:
    """The whole page."""
    return HEAD + "".join(_package(folder) for tree in TREES for folder in _packages(ROOT / tree))


def _packages(folder: Path) -> Iterator[Path]:
    """The folder and those below it that hold modules, parents first."""
    below = [path for path in folder.rglob("*") if path.is_dir() and any(path.glob("*.py"))]
    yield from (folder, *sorted(below))


def _package(folder: Path) -> str:
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    rows = "".join(f"| [`{path.name}`]({_link(path)}) | {_sentence(path)} |\n" for path in modules)
    table = f"\n| module | what it is |\n| --- | --- |\n{rows}" if rows else ""
    return f"\n## `{folder.relative_to(ROOT)}/`\n\n{_sentence(folder / '__init__.py')}\n{table}"


def _link(path: Path) -> str:
    return Path(os.path.relpath(path, PAGE.parent)).as_posix()


def _sentence(path: Path) -> str:
    """First line of a module's docstring, fit for a table's cell."""
    lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines() if path.exists() else []
    return lines[0].replace("|", "\\|") if lines else ""


if __name__ == "__main__":
    PAGE.write_text(code_map())
