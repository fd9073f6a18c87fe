"""Python runs this at start where its folder is on the path: prompts of a batch share no beginning."""

import importlib.abc
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LANGUAGE = "service.model.qwen3_vl.language"


class Wrapping(importlib.abc.MetaPathFinder):
    """Finds the decoder's module as ever, and changes its class."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != LANGUAGE:
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
    begin = module.LanguageModel.__init__

    def init(self: Any, model: Any, **options: Any) -> None:
        begin(self, model, **options | {"may_share": False})

    module.LanguageModel.__init__ = init


sys.meta_path.insert(0, Wrapping())
