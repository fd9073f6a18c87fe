"""Train a small reranker: `python -m cenote_builtin.training.train_reranker --out DIR [--steps N]`.

Starts from the embedder's checkpoint, keeps its vision tower as it is, and trains the rest. Writes a checkpoint folder,
with steps, seed, seconds and machine in its `training.json`. Downloads nothing. `scoring.rerank` measures the result.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import Qwen3VLForConditionalGeneration, Qwen3VLModel

from cenote_builtin.architecture import RERANKER_LAYERS, build_config
from cenote_builtin.checkpoint import write_json, write_reranker
from cenote_builtin.scenes.scenes import MAX_OBJECTS
from cenote_builtin.tokenizer import VOCAB_SIZE, judging_tokenizer, special_ids
from cenote_builtin.training.judge import Judge, Lesson, judgment_loss
from cenote_builtin.training.pairs import NUM_DOCUMENTS, PairMaker, Stage
from cenote_builtin.training.picture_pool import make_pool
from cenote_builtin.training.trainer import initialize
from cenote_builtin.training.updates import Updates, cosine_rate
from service.checkpoint.hub import CHECKPOINT

_NUM_QUERIES: Final = 8
_POOLS: Final = ((96, 250), (128, 1000))
"""Side of the pictures in pixels, and families. At 96 px each visual token is one cell, which is learned first."""
_STAGES: Final = (
    (0.2, Stage(max_objects=1, num_relatives=1, is_first=True), 0.0),
    (0.4, Stage(max_objects=2, num_relatives=2, is_first=True), 0.0),
    (0.55, Stage(max_objects=MAX_OBJECTS, num_relatives=2, is_first=True), 0.2),
    (1.0, Stage(max_objects=MAX_OBJECTS, num_relatives=3, is_first=False), 0.6),
)
"""Up to which share of the steps which stage lasts, and the share of its steps with the larger pictures."""
_PEAK_LEARNING_RATE: Final = 1.5e-3
_POOLING_LAYER: Final = ".language_model.layers.2."
_APART: Final = 0.03
"""Initial distance of the head's rows `yes` and `no`, by component."""
_NUM_TOLD: Final = 25


@dataclass(frozen=True, slots=True)
class RerankerRecord:
    """The training's entry in the score card."""

    seed: int
    steps: int
    pictures: int
    pairs: int
    training_s: float
    num_parameters: int
    num_trained: int
    num_threads: int
    machine: str
    torch_version: str


def start_model(embedder: Path, tokenizer: Tokenizer, seed: int) -> Qwen3VLForConditionalGeneration:
    """The embedder's weights but for its last layer, which pools, and new layers; tower and mergers are frozen."""
    torch.manual_seed(seed)
    model = Qwen3VLForConditionalGeneration(build_config(VOCAB_SIZE, special_ids(tokenizer), RERANKER_LAYERS))
    initialize(model)
    known = Qwen3VLForConditionalGeneration.from_pretrained(embedder, dtype=torch.float32).state_dict()
    model.load_state_dict({name: w for name, w in known.items() if _POOLING_LAYER not in name}, strict=False)
    rows = model.lm_head.weight  # tied to the input embeddings
    yes, no = (tokenizer.token_to_id(word) for word in ("yes", "no"))
    with torch.no_grad():
        rows[yes] = rows[no] + _APART * torch.randn(rows.shape[1])
    model.model.visual.requires_grad_(requires_grad=False)
    return model


class RerankerTrainer:
    """The pools, the model and its updates.

    Args:
        embedder: its checkpoint's folder.
        earlier: of a reranker that is trained on, in the last stage alone; None to begin with the embedder.
    """

    def __init__(self, embedder: Path, earlier: Path | None, steps: int, seed: int) -> None:
        self._start_s, self._steps, self._seed = time.monotonic(), steps, seed
        known = Tokenizer.from_file(str(embedder / "tokenizer.json"))
        self._tokenizer = judging_tokenizer(known)
        stock = Qwen3VLModel.from_pretrained(embedder, dtype=torch.float32).train(mode=False)
        pools = [make_pool(stock, known, seed, side, num_families) for side, num_families in _POOLS]
        self._num_pictures = sum(len(pool.scenes) for pool in pools)
        self._makers = [PairMaker(pool, self._tokenizer, seed) for pool in pools]
        self._model = start_model(embedder, self._tokenizer, seed)
        self._stages: Sequence[tuple[float, Stage, float]] = _STAGES
        self._num_before, self._before_s = 0, 0.0
        if earlier is not None:
            record = json.loads((earlier / "training.json").read_text())
            self._stages, self._num_before, self._before_s = _STAGES[-1:], record["steps"], record["training_s"]
            trained = Qwen3VLForConditionalGeneration.from_pretrained(earlier, dtype=torch.float32)
            self._model.load_state_dict(trained.state_dict())
        self._lesson = Lesson()
        helpers = list(self._lesson.parameters())
        layers = self._model.model.language_model.layers
        self._updates = Updates(
            self._model,
            helpers,
            _PEAK_LEARNING_RATE,
            lambda step: cosine_rate(step, steps),
            by_muon=[weight for weight in layers.parameters() if weight.ndim == 2],
        )
        self._judge = Judge(self._model, self._tokenizer)

    def run(self, out: Path, save_every: int) -> RerankerRecord:
        """All updates. Writes the checkpoint at the end, and each `save_every` steps unless that is 0."""
        first = self._num_before
        chance = np.random.default_rng([self._seed, 6]).random(first + self._steps)[first:]
        told: list[list[float]] = []
        for step in range(self._steps):
            stage, large = next((stage, large) for share, stage, large in self._stages if step < share * self._steps)
            told.append(self._step(first + step, self._makers[int(chance[step] < large)], stage))
            if step % _NUM_TOLD == 0 or step == self._steps - 1:
                mean = " ".join(f"{value:.3f}" for value in np.mean(told[-_NUM_TOLD:], axis=0))
                took_s = time.monotonic() - self._start_s
                print(f"step {step} {took_s:.0f}s losses, pairs, firsts {mean}", flush=True)
            if save_every and step % save_every == save_every - 1:
                self._write(out, step + 1)
        return self._write(out, self._steps)

    def _step(self, step: int, maker: PairMaker, stage: Stage) -> list[float]:
        """One update. Returns its losses, the share of right judgments, and of queries with an answer first."""
        batch = maker.batch(step, _NUM_QUERIES, stage)
        logits, pictures = self._judge.logits(batch, maker.pool.features(batch.images))
        labels = torch.from_numpy(batch.labels)
        lesson = self._lesson(pictures, batch, maker.pool.side_tokens)
        loss = judgment_loss(logits, labels)
        self._updates.descend(loss + lesson.sum())
        first = labels.gather(1, logits.detach().argmax(dim=1, keepdim=True))
        right = ((logits > 0) == (labels > 0)).float()
        return [float(loss.detach()), *lesson.detach().tolist(), float(right.mean()), float(first.mean())]

    def _write(self, out: Path, num_steps: int) -> RerankerRecord:
        weights = list(self._model.parameters())
        num_steps += self._num_before
        record = RerankerRecord(
            seed=self._seed,
            steps=num_steps,
            pictures=self._num_pictures,
            pairs=num_steps * _NUM_QUERIES * NUM_DOCUMENTS,
            training_s=round(time.monotonic() - self._start_s + self._before_s, 1),
            num_parameters=sum(weight.numel() for weight in weights),
            num_trained=sum(weight.numel() for weight in weights if weight.requires_grad),
            num_threads=torch.get_num_threads(),
            machine=f"{platform.machine()}, {os.cpu_count()} cores, no GPU",
            torch_version=torch.__version__,
        )
        write_reranker(out, self._updates.average, self._tokenizer)
        write_json(out / "training.json", asdict(record))
        return record


def main() -> None:
    """Read the flags, train, print the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", type=Path, default=CHECKPOINT)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--earlier", type=Path, help="a reranker to train on")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--save-every", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    print(RerankerTrainer(flags.embedder, flags.earlier, flags.steps, flags.seed).run(flags.out, flags.save_every))


if __name__ == "__main__":
    main()
