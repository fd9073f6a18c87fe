"""Every object of an OpenAPI document with its path, and what a value breaks of a schema in it."""

from collections.abc import Iterator
from typing import Any

import jsonschema


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


def validator_of(document: dict[str, Any], kind: Any = jsonschema.Draft202012Validator) -> Any:
    """A validator that knows the components of an OpenAPI document, 3.1 without a `kind`."""
    return kind({"components": document["components"]})


def errors_of(value: Any, schema: dict[str, Any], validator: Any) -> list[str]:
    """What a JSON value breaks of a schema of the validator's document."""
    return [error.message for error in validator.evolve(schema=schema).iter_errors(value)]
