"""Python runs this at start where its folder is on the path: a server's processes wait longer for shared tiers.

With the product's own deadlines, a test machine that stands still for a moment would turn a hit into a miss.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

PATIENCE_S = 30.0
HASTY = (
    "service.engine.shared_tiers.look_ups",
    "service.engine.shared_tiers.valkey",
    "service.front.engine_client.vector_store",
)


class PatientFinder(MetaPathFinder):
    """Finds these modules as ever, and changes their deadline when they are there."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in HASTY else None
        if spec is None:
            return None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            assert module.TIMEOUT_S < PATIENCE_S  # else it has another name by now
            module.TIMEOUT_S = PATIENCE_S

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, PatientFinder())
