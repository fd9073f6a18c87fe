"""Train the built-in model: `python -m cenote_builtin.training.train [--out DIR] [--steps N] [--seed S]`.

Writes a checkpoint folder, with steps, seed, seconds and machine in its `training.json`. Downloads nothing. `score.py`
measures the result.
"""

import argparse
import os
import platform
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import torch
from tokenizers import Tokenizer

from cenote_builtin.checkpoint import write_checkpoint, write_json
from cenote_builtin.scenes.batches import Batch, make_batch
from cenote_builtin.scenes.scenes import ASPECTS, MAX_OBJECTS
from cenote_builtin.tokenizer import train_tokenizer
from cenote_builtin.training.trainer import Trainer
from service.checkpoint.hub import CHECKPOINT

_BATCHES_AHEAD: Final = 4
_TOWER_SHARE: Final = 0.6
"""Steps of the vision tower alone, over the contrastive steps that follow; each costs about a third of such a step."""
_STAGES: Final = ((0.05, 1), (0.15, 2), (1.0, MAX_OBJECTS))
"""Up to which share of the steps at most how many objects: single shapes and places come first, then sets of them."""


@dataclass(frozen=True, slots=True)
class TrainingRecord:
    """The training's entry in the score card."""

    seed: int
    tower_steps: int
    steps: int
    training_s: float
    pictures: int
    num_parameters: int
    num_threads: int
    machine: str
    torch_version: str


def _max_objects(done: float) -> int:
    """Most objects in a scene at this step; the tower's own part, before step 0, has full scenes."""
    if done < 0:
        return MAX_OBJECTS
    return next(limit for share, limit in _STAGES if done < share)


def _batches(tokenizer: Tokenizer, seed: int, tower_steps: int, steps: int) -> Iterator[Batch]:
    """The batches of all steps, the tower's first, made a few steps ahead in another process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as maker:
        waiting: list[Future[Batch]] = []
        for step in range(tower_steps + steps + _BATCHES_AHEAD):
            if step < tower_steps + steps:
                limit = _max_objects((step - tower_steps) / steps)
                waiting.append(maker.submit(make_batch, tokenizer, seed, step, limit))
            if step >= _BATCHES_AHEAD:
                yield waiting.pop(0).result()


def train(out: Path, steps: int, seed: int) -> TrainingRecord:
    """Make tokenizer, weights and every other file of the checkpoint, in `steps` contrastive updates."""
    start, num_images = time.monotonic(), 0
    tokenizer = train_tokenizer(seed)
    tower_steps = round(steps * _TOWER_SHARE)
    trainer = Trainer(tokenizer, seed, tower_steps, steps)
    for step, batch in enumerate(_batches(tokenizer, seed, tower_steps, steps), start=-tower_steps):
        loss, right = (trainer.step_tower(batch), []) if step < 0 else trainer.step(batch)
        num_images += len(batch.pixels)
        if step % 20 == 0 or step == steps - 1:
            shares = " ".join(f"{aspect} {share:.2f}" for aspect, share in zip(ASPECTS, right, strict=False))
            print(f"step {step} {time.monotonic() - start:.0f}s loss {loss:.3f} {shares}", flush=True)
    record = TrainingRecord(
        seed=seed,
        tower_steps=tower_steps,
        steps=steps,
        training_s=round(time.monotonic() - start, 1),
        pictures=num_images,
        num_parameters=sum(weight.numel() for weight in trainer.model.parameters()),
        num_threads=torch.get_num_threads(),
        machine=f"{platform.machine()}, {os.cpu_count()} cores, no GPU",
        torch_version=torch.__version__,
    )
    write_checkpoint(out, trainer.average, tokenizer)
    write_json(out / "training.json", asdict(record))
    return record


def main() -> None:
    """Read the flags, train, print the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    parser.add_argument("--steps", type=int, default=1300)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--threads", type=int, default=2)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    print(train(flags.out, flags.steps, flags.seed))


if __name__ == "__main__":
    main()
