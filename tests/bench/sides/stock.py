"""The vision tower as plain transformers has it, on the same checkpoint.

In its favor: its images are cut into patches before the clock starts.

`python -m tests.bench.sides.stock FOLDER THREADS`
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import Qwen3VLModel

from service.media.image.image_file import ImageFile
from service.model.qwen3_vl.qwen3_vl import patchify
from service.settings.settings import Settings
from tests.bench.pipe import answer_forever
from tests.bench.prompts import PromptReader, pixels_of


class StockTransformers:
    """`Qwen3VLModel.visual` and nothing of ours but the pixels."""

    def __init__(self, folder: str, num_threads: int) -> None:
        torch.set_num_threads(num_threads)
        self._reader = PromptReader(Settings(model=folder))
        checkpoint = self._reader.model.checkpoint.folder
        self._model = Qwen3VLModel.from_pretrained(checkpoint, dtype=torch.float32, attn_implementation="sdpa")
        self._model.train(False)
        self._patches: dict[str, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self._rows: dict[str, list[bytes]] = {}

    def prepare(self, label: str, work: dict[str, Any]) -> None:
        prompts = [prompt for body in work["bodies"] for prompt in self._reader.prompts(body)]
        items = [place.item for prompt in prompts for place in prompt.placeholders]
        self._patches[label] = [_patches(item) for item in items if isinstance(item, ImageFile)]

    @torch.inference_mode()
    def run(self, label: str) -> float:
        began_s = time.perf_counter()
        found = [self._features(*patches) for patches in self._patches[label]]
        seconds = time.perf_counter() - began_s
        self._rows[label] = [row.numpy().tobytes() for row in found]
        return seconds

    def rows(self, label: str) -> Sequence[bytes]:
        return self._rows[label]

    def num_tokens(self, label: str) -> int:
        return 0  # towers read none

    def facts(self) -> dict[str, Any]:
        return {}

    def _features(self, patches: torch.Tensor, grid_thw: torch.Tensor) -> torch.Tensor:
        out = self._model.visual(patches, grid_thw=grid_thw, return_dict=True)
        return torch.cat([out.pooler_output, *out.deepstack_features], dim=-1)


def _patches(item: ImageFile) -> tuple[torch.Tensor, torch.Tensor]:
    return patchify(torch.tensor(np.asarray(pixels_of(item)))), torch.tensor([item.grid_thw])


if __name__ == "__main__":
    answer_forever(lambda: StockTransformers(sys.argv[1], int(sys.argv[2])))
