"""Python runs this at start where its folder is on the path: in an engine process it puts trouble around the runner."""

import importlib.abc
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from troubled import TroubledRunner

LOOP = "service.engine.loop"


class Wrapping(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the loop's module as ever, and changes what its class is given."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != LOOP:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _wrap(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _wrap(module: Any) -> None:
    begin = module.EngineLoop.__init__

    def init(self: Any, send: Any, announcer: Any, inbox: Any, scheduler: Any, runner: Any, *behind: Any) -> None:
        troubled = TroubledRunner(runner, Path(os.environ["FAULTS"]))
        begin(self, send, announcer, inbox, scheduler, troubled, *behind)

    module.EngineLoop.__init__ = init


if "service.engine.worker" in sys.orig_argv:
    sys.meta_path.insert(0, Wrapping())
