"""Every run of the model is announced before it begins.

The front's watchdog counts from there, and the client knows who was running should the engine end.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from service.engine.scheduler import Encode, Waiting
from service.ipc.messages import StepKind, StepStarted

if TYPE_CHECKING:
    import torch


class Announcing:
    """Numbers what it announces.

    Attributes:
        num_steps: announced so far, which is the number of the last one.
    """

    def __init__(self, announce: Callable[[StepStarted], None]) -> None:
        self.num_steps = 0
        self._announce = announce

    def encode(self, encode: "Encode[torch.Tensor]") -> None:
        """A run of the vision tower, for everybody who waits for the picture."""
        ids = list({one.request.id for waiting, _ in encode.waiters for one in waiting.everyone})
        self._step("encode", encode.media.num_tokens, ids)

    def batch(self, batch: "Sequence[Waiting[torch.Tensor]]") -> None:
        """A run of the language model, for everybody who asked for one of its prompts."""
        num_tokens = sum(len(waiting.request.token_ids) for waiting in batch)
        self._step("language", num_tokens, [one.request.id for waiting in batch for one in waiting.everyone])

    def _step(self, kind: StepKind, num_tokens: int, ids: list[int]) -> None:
        self.num_steps += 1
        began_s = time.monotonic()
        self._announce(StepStarted(number=self.num_steps, kind=kind, num_tokens=num_tokens, ids=ids, began_s=began_s))
