"""Every object of an OpenAPI document with its path."""

from collections.abc import Iterator
from typing import Any


def walk(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object below `node`, with its path; examples are data and not walked."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            if key not in ("examples", "example", "mapping"):
                yield from walk(value, f"{path}/{key}")
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from walk(value, f"{path}/{i}")
