"""The device runs out of memory at many points: whatever fits alone is answered, and as if nothing had happened."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from tests.scoreboard.line import Result, line
from tests.scoreboard.lines.own_engine import OwnEngine

NUM_CONTENTS = 60
MAX_BATCH = 64


class ShortOfMemory:
    """A real runner on a device with room for so many tokens, and none at all for the next so many calls."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner
        self.max_tokens = 10**9
        self.num_refused = 0
        self.num_hit = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def embed(self, batch: Sequence[Any]) -> Any:
        num_tokens = sum(len(waiting.request.plan.ids) for waiting in batch)
        if self.num_refused or (len(batch) > 1 and num_tokens > self.max_tokens):
            self.num_refused = max(0, self.num_refused - 1)
            self.num_hit += 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self._runner.embed(batch)

    def encode(self, *args: Any) -> Any:
        if self.num_refused:
            self.num_refused -= 1
            self.num_hit += 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        return self._runner.encode(*args)


@line(
    14,
    "points at which the device has no memory",
    "all inputs that fit alone succeed and equal their solo vectors",
    sizes=(50, 500),
    side_by_side=True,
)
def run(size: int, folder: Path) -> Result:
    """n = 1..64 inputs on a device that is too small, or short for a moment; every one fits alone."""
    draw, shorts = random.Random(14), list[ShortOfMemory]()

    def wrap(runner: Any) -> Any:
        shorts.append(ShortOfMemory(runner))
        return shorts[0]

    engine = OwnEngine(wrap)
    (short,) = shorts
    pool = [engine.content(draw) for _ in range(NUM_CONTENTS)]
    solo = [engine.vector(content) for content in pool]
    failures: list[str] = []
    for number in range(size):
        if number % 5 == 0:
            engine.scheduler.cache.clear()  # so that images are encoded, and meet it too
        short.max_tokens = draw.choice((30, 100, 400, 1000))
        short.num_refused = 1 if number % 2 else 0
        picked = [
            draw.randrange(NUM_CONTENTS) for _ in range(1 if number % 3 == 1 else draw.randrange(1, MAX_BATCH + 1))
        ]
        num_before = short.num_hit
        wrong = engine.wrong_in([(pool[index], solo[index]) for index in picked])
        short.num_refused = 0
        if wrong:
            refused = f"{short.num_hit - num_before} refusals"
            failures.append(f"point {number}: {len(wrong)} of {len(picked)} wrong, after {refused}")
    ceiling = engine.scheduler.ready.max_tokens
    return Result(
        size, len(failures), [f"{short.num_hit} refusals; ceiling in the end {ceiling} tokens", *failures[:5]]
    )
