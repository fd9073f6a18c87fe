"""Python runs this at start where its folder is on the path: in an engine process it puts trouble around the runner."""

import os
import sys
from pathlib import Path
from typing import Any

from after_import import after_import
from troubled import TroubledRunner


def _trouble(module: Any) -> None:
    begin = module.EngineLoop.__init__

    def init(self: Any, fronts: Any, inbox: Any, scheduler: Any, runner: Any, *behind: Any) -> None:
        troubled = TroubledRunner(runner, Path(os.environ["FAULTS"]))
        begin(self, fronts, inbox, scheduler, troubled, *behind)

    module.EngineLoop.__init__ = init


if "service.engine.worker" in sys.orig_argv:
    after_import({"service.engine.loop": _trouble})
