"""Fails when a type is lost: prints every field of a model and every answer of a function that is, or holds, `Any`.

Allowed is `additional_properties` alone: answers are open objects, and it keeps what this version does not know.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import cenote_client.api
from cenote_client import models

KEPT_UNKNOWN = "additional_properties"
CALLS = ("sync", "sync_detailed", "asyncio", "asyncio_detailed")


def holds_any(hint: object) -> bool:
    return hint is Any or any(holds_any(argument) for argument in get_args(hint))


def fields() -> Iterator[tuple[str, object]]:
    names = dict(vars(models))
    for model in (value for value in names.values() if inspect.isclass(value) and hasattr(value, "__attrs_attrs__")):
        hints = get_type_hints(model, localns=names)
        yield from ((f"{model.__name__}.{name}", hint) for name, hint in hints.items() if name != KEPT_UNKNOWN)


def answers() -> Iterator[tuple[str, object]]:
    for found in pkgutil.walk_packages(cenote_client.api.__path__, "cenote_client.api."):
        module = importlib.import_module(found.name)
        for call in (name for name in CALLS if hasattr(module, name)):
            yield f"{found.name}.{call}", get_type_hints(getattr(module, call))["return"]


everything = [*fields(), *answers()]
lost = [f"{place}: {hint}" for place, hint in everything if holds_any(hint)]
print(f"{len(everything)} types", *lost, sep="\n")
sys.exit(bool(lost))
