"""Runs as `sitecustomize` in both processes of a server: writes down whose each request is, and what a step holds."""

import functools
import json
import os
import sys
import time
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def _write(**event: Any) -> None:
    file = os.open(os.environ["ABORTS_TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (json.dumps(event) + "\n").encode())
    os.close(file)


def _trace_front(module: ModuleType) -> None:
    submit = module.EngineClient.submit

    @functools.wraps(submit)
    def traced(self: Any, *arguments: Any, **named: Any) -> Any:
        submitted = submit(self, *arguments, **named)
        caller = next((one for one in (*arguments, *named.values()) if hasattr(one, "patience_s")), None)
        if caller is not None:
            _write(patience_s=round(caller.patience_s, 3), ids=[one.request.id for one in submitted])
        return submitted

    module.EngineClient.submit = traced


def _trace_engine(module: ModuleType) -> None:
    next_step = module.Scheduler.next_step

    @functools.wraps(next_step)
    def traced(self: Any) -> Any:
        step = next_step(self)
        waiting = getattr(step, "batch", None) or [w for e in getattr(step, "encodes", ()) for w, _ in e.waiters]
        if waiting:
            _write(step_s=time.monotonic(), ids=[twin.request.id for one in waiting for twin in one.group])
        return step

    module.Scheduler.next_step = traced


TRACES = {"service.front.engine_client.client": _trace_front, "service.engine.scheduling.scheduler": _trace_engine}


class Finder:
    """Lets the usual finders find, and traces what they have loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in TRACES:
            return None
        spec = next((found for one in sys.meta_path if one is not self and (found := one.find_spec(name, path))), None)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_trace(module: ModuleType) -> None:
            execute(module)
            TRACES[name](module)

        spec.loader.exec_module = execute_and_trace  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
