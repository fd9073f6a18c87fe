"""Figures of the house that are counted in its sources: words, fields, optional values, names, circles, lines."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

PRODUCT = ("service", "schemas", "kernels")


def sources(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts
    )


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Each node of a file."""
    return [*ast.walk(parsed(path))]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def room(path: str, depth: int = 2) -> str:
    """The folder of that depth that a file stands in; a file of a higher folder is a room of its own."""
    parts = path.split("/")
    return "/".join(parts[:depth]) if len(parts) > depth else path


def spread(words: list[str], homes: list[str]) -> set[str]:
    """Files of the product outside of the homes in which one of these words (expressions) stands."""
    pattern = re.compile("|".join(words))
    found = {relative(path) for path in sources(*PRODUCT) if pattern.search(path.read_text())}
    return {path for path in found if not path.startswith(tuple(homes))}


def fields(class_name: str) -> int:
    """Fields of a class of the product, which must be there once."""
    found = [node for _, node in classes("service", "schemas") if node.name == class_name]
    assert len(found) == 1, f"{len(found)} classes are called {class_name}"
    return sum(isinstance(line, ast.AnnAssign) for line in found[0].body)


def classes(*folders: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """Each class that is defined in these folders, with its file."""
    for path in sources(*folders):
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                yield relative(path), node


def double_classes() -> dict[str, list[str]]:
    """Names of more than one class of `service`, but for private ones, with their files."""
    files = defaultdict(list)
    for path, node in classes("service"):
        files[node.name].append(path)
    return {name: where for name, where in files.items() if len(where) > 1 and not name.startswith("_")}


def optionals() -> Counter[str]:
    """Fields and parameters of `service` that may be None, by room."""
    counts: Counter[str] = Counter()
    for path in sources("service"):
        for node in nodes(path):
            annotation = node.annotation if isinstance(node, ast.AnnAssign | ast.arg) else None
            last = annotation.right if isinstance(annotation, ast.BinOp) else annotation
            is_optional = last is not annotation and isinstance(last, ast.Constant) and last.value is None
            counts[room(relative(path))] += is_optional
    return counts


def model_checks() -> list[str]:
    """Places outside of the models at which the class of a model is asked for."""
    models = {node.name for _, node in classes("service/model")}
    return [
        f"{relative(path)}: {ast.unparse(node)}"
        for path in sources("service")
        if not relative(path).startswith("service/model/")
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if models & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    ]


def room_circles() -> list[list[str]]:
    """Rooms of `service`, folders of up to three parts, that import each other in a circle."""
    arrows = defaultdict(set)
    for path in sources("service"):
        here = room(relative(path), 3)
        arrows[here] |= {room(there, 3) for there in _imported(path)} - {here}
    reachable = {here: _reachable(here, arrows) for here in arrows}
    circles = {frozenset(there for there in reachable[here] if here in reachable.get(there, ())) for here in arrows}
    return sorted(sorted(circle) for circle in circles if circle)


def _imported(path: Path) -> Iterator[str]:
    for node in nodes(path):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name.startswith("service."):
                stem = name.replace(".", "/")
                yield f"{stem}.py" if (ROOT / f"{stem}.py").exists() else f"{stem}/__init__.py"


def _reachable(here: str, arrows: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = [*arrows[here]]
    while ahead:
        there = ahead.pop()
        if there not in seen:
            seen.add(there)
            ahead += arrows.get(there, ())
    return seen


def code_lines(folder: str) -> int:
    """Lines of Python with code on them: no blank ones, comments or docstrings."""
    return sum(map(_code_lines, sources(folder)))


def _code_lines(path: Path) -> int:
    stripped = [line.strip() for line in path.read_text().splitlines()]
    lines = {number for number, line in enumerate(stripped, 1) if line and not line.startswith("#")}
    texts = [
        node
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return len(lines - {line for node in texts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)})
