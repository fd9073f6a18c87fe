"""Changes modules of a server's processes as they are loaded: what a `sitecustomize.py` of the tests calls.

Knows nothing but Python: it runs before any package of the product. Its folder is on the path by `environ.py`. Where
the path has a module `broken_by` (`scoreboard/sabotage.py` writes it), the break that it names is made in each process.
"""

import sys
from collections.abc import Callable, Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


class ChangingFinder(MetaPathFinder):
    """Finds modules as ever, and changes those named when they have been executed: a module by all who named it."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Callable[[Any], None]]] = {}

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        changes = self.changes.get(name)
        spec = PathFinder.find_spec(name, path) if changes else None
        if changes is None or spec is None:
            return None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            for change in changes:
                change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


FOREIGN = ("accelerate", "bitsandbytes", "compressed_tensors", "peft", "scipy", "sentencepiece", "sklearn")
"""Packages of the references, which are not the product's: its processes start without them, as they are installed."""
sys.modules.update(dict.fromkeys(FOREIGN))  # type: ignore[arg-type]  # None is a module that is not there

FINDER = ChangingFinder()
sys.meta_path.insert(0, FINDER)


def after_import(changes: Mapping[str, Callable[[Any], None]]) -> None:
    """Call each function with the module of its name when that module is imported."""
    for name, change in changes.items():
        FINDER.changes.setdefault(name, []).append(change)


try:
    from broken_by import NAME
except ImportError:
    pass
else:
    from tests.scoreboard.breaks.breaks import named

    after_import({named(NAME).module: named(NAME).change})
