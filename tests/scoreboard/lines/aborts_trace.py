"""Runs as `sitecustomize` in both processes of a server: writes down whose each request is, and what a step holds."""

import functools
import json
import os
import time
from types import ModuleType
from typing import Any

from after_import import after_import


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


after_import({"service.front.engine_client.client": _trace_front, "service.engine.scheduling.scheduler": _trace_engine})
