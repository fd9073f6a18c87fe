"""The far end of a side in a process of its own: one line of JSON on stdin asks, one on stdout answers.

The standard library only, for the other end may run in another environment. Whatever a library prints there goes to
stderr: the pipe's descriptor is put aside before anything is imported.
"""

import base64
import json
import os
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Worker(Protocol):
    """A side as its own process knows it; work comes as JSON."""

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        """See `Side.prepare`."""

    def run(self, label: str) -> float:
        """See `Side.run`."""

    def rows(self, label: str) -> Sequence[bytes]:
        """See `Side.vectors`: little-endian float32."""

    def num_tokens(self, label: str) -> int:
        """Of all that is prepared under the label, with what tokenizer or template add, without padding."""

    def facts(self) -> dict[str, Any]:
        """Versions, threads, and what else a reader should know."""


def answer_forever(make: Callable[[], Worker]) -> None:
    """The worker's end: make the side, say so, and answer until the pipe closes."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asked = os.fdopen(os.dup(0), "r")
    worker: Worker | None = None
    while line := asked.readline():
        try:
            if worker is None:
                worker = make()
            said = {"value": _do(worker, json.loads(line))}
        except Exception:  # noqa: BLE001  # the asker raises it
            said = {"error": traceback.format_exc()}
        out.write(json.dumps(said) + "\n")
        out.flush()


def _do(worker: Worker, question: dict[str, Any]) -> Any:
    match question:
        case {"do": "prepare", "label": label, "work": work}:
            return worker.prepare(label, work)
        case {"do": "run", "label": label}:
            return worker.run(label)
        case {"do": "vectors", "label": label}:
            return [base64.b64encode(row).decode() for row in worker.rows(label)]
        case {"do": "num_tokens", "label": label}:
            return worker.num_tokens(label)
        case {"do": "facts"}:
            return worker.facts()
    raise ValueError(f"nobody knows how to do {question}")
