"""A real runner that stumbles when it is told to: the faults that a device or a kernel would have.

The product has no hooks for this. A test hands the wrapper to a real `EngineLoop`, or `sitecustomize.py` beside this
file puts it around the runner of a real engine process.
"""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

KILLER_TOKENS = 123
"""A prompt of exactly so many tokens ends the engine, as an index out of range in a kernel would."""


class TroubledRunner:
    """Everything is the real runner's, but `embed` comes here first.

    Files in `folder` switch faults on: `slow` holds seconds, `hang` stops once and is gone, `wrong` turns vectors,
    `deadly` holds token ids: a prompt in which they stand one behind the other ends the engine.
    `slowing` is ours, and there for as long as a step is being slow.
    """

    def __init__(self, runner: Any, folder: Path) -> None:
        self._runner = runner
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def embed(self, batch: Sequence[Any]) -> Any:
        prompts = [waiting.request.plan.ids for waiting in batch]
        if any(len(ids) == KILLER_TOKENS for ids in prompts) or self._is_deadly(prompts):
            os.kill(os.getpid(), signal.SIGSEGV)
        if seconds := self._slowness_s():
            slowing = self._folder / "slowing"
            slowing.touch()
            time.sleep(seconds)
            slowing.unlink(missing_ok=True)
        if (hang := self._folder / "hang").exists():
            hang.unlink()
            time.sleep(3600)
        found = self._runner.embed(batch)
        if not (self._folder / "wrong").exists():
            return found
        return {kind: replace(one, rows=one.rows.flip(-1)) for kind, one in found.items()}

    def _is_deadly(self, prompts: Sequence[Sequence[int]]) -> bool:
        try:
            deadly = f" {(self._folder / 'deadly').read_text()} "
        except FileNotFoundError:
            return False
        return any(deadly in f" {' '.join(map(str, ids))} " for ids in prompts)

    def _slowness_s(self) -> float:
        try:
            return float((self._folder / "slow").read_text())
        except FileNotFoundError:  # also when the test removes it just now
            return 0.0
