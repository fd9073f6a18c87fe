"""Plain transformers on the same checkpoint: a loop over padded batches of 32, and the vision tower as it is there.

In its favor: its prompts are tokenized and its images are cut into patches before the clock starts.

`python -m tests.bench.sides.stock FOLDER THREADS`
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import normalize
from torch.nn.utils.rnn import pad_sequence
from transformers import Qwen3VLModel

from service.media.image.image_file import ImageFile
from service.model.qwen3_vl.qwen3_vl import patchify
from service.settings import Settings
from tests.bench.pipe import answer_forever
from tests.bench.prompts import PromptReader, pixels_of
from tests.bench.work import Work

BATCH_SIZE = 32

Batch = tuple[torch.Tensor, torch.Tensor]
"""Token ids and attention mask, padded to the longest."""


class StockTransformers:
    """`Qwen3VLModel` and nothing of ours but the prompts."""

    def __init__(self, folder: str, num_threads: int) -> None:
        torch.set_num_threads(num_threads)
        self._reader = PromptReader(Settings(model=folder))
        checkpoint = self._reader.model.checkpoint.folder
        self._model = Qwen3VLModel.from_pretrained(checkpoint, dtype=torch.float32, attn_implementation="sdpa")
        self._model.train(False)
        self._batches: dict[str, list[Batch]] = {}
        self._patches: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self._rows: dict[str, list[bytes]] = {}

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        wanted = Work.from_json(work)
        for ready in (self._batches, self._patches):
            ready.pop(label, None)
        prompts = [prompt for body in wanted.bodies for prompt in self._reader.prompts(body)]
        if wanted.kind == "tower":
            items = [place.item for prompt in prompts for place in prompt.placeholders]
            self._patches[label] = [_patches(item) for item in items if isinstance(item, ImageFile)]
        else:
            parts = [prompts[i : i + BATCH_SIZE] for i in range(0, len(prompts), BATCH_SIZE)]
            self._batches[label] = [_padded([prompt.plan.ids for prompt in part]) for part in parts]

    @torch.inference_mode()
    def run(self, label: str) -> float:
        began_s = time.perf_counter()
        if label in self._patches:
            found = [self._features(*patches) for patches in self._patches[label]]
        else:
            found = [row for batch in self._batches[label] for row in self._embed(*batch)]
        seconds = time.perf_counter() - began_s
        self._rows[label] = [row.numpy().tobytes() for row in found]
        return seconds

    def rows(self, label: str) -> Sequence[bytes]:
        return self._rows[label]

    def num_tokens(self, label: str) -> int:
        return sum(int(mask.sum()) for _, mask in self._batches[label])

    def facts(self) -> dict[str, Any]:
        return {"batch_size": BATCH_SIZE}

    def _embed(self, input_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self._model(input_ids, attention_mask=mask, use_cache=False).last_hidden_state
        return normalize(hidden[torch.arange(len(hidden)), mask.sum(dim=1) - 1], dim=-1)

    def _features(self, patches: torch.Tensor, grid_thw: torch.Tensor) -> torch.Tensor:
        out = self._model.visual(patches, grid_thw=grid_thw, return_dict=True)
        return torch.cat([out.pooler_output, *out.deepstack_features], dim=-1)


def _padded(rows: Sequence[list[int]]) -> Batch:
    ids = [torch.tensor(row) for row in rows]
    mask = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
    return pad_sequence(ids, batch_first=True), mask


def _patches(item: ImageFile) -> tuple[torch.Tensor, torch.Tensor]:
    return patchify(torch.tensor(np.asarray(pixels_of(item)))), torch.tensor([item.grid_thw])


if __name__ == "__main__":
    answer_forever(lambda: StockTransformers(sys.argv[1], int(sys.argv[2])))
