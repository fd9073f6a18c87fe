"""The service's own way from a pair to its logit, without its sockets: prompt, pixels, runner."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cenote_kernels import finish
from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.engine.startup.weight_formats import prepack
from service.ipc.messages import Media, PixelSlot, Request
from service.media.image.decode import load_pixels
from service.media.item import MediaItem
from service.media.video.frame_pair import FramePair
from service.model.architectures import load_model
from service.outputs.score import LOGIT, ScoreAsk
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Side, Truncation

ARENA_BYTES = 1 << 24


class Scored:
    """One reranker, loaded as front and engine load it."""

    def __init__(self, folder: Path, family: str | None = None, *, strict_reference: bool = False) -> None:
        self.folder = folder
        self.profile = load_profile(folder, family)
        self.tokenizer = PromptTokenizer(folder, lower_case=self.profile.lower_case)
        self.builder = PromptBuilder(self.profile, self.tokenizer, strict_reference)
        device, profile = torch.device("cpu"), self.profile
        self.model: Any = load_model(profile.architecture, folder, device, torch.float32, profile.pooling)
        prepack(self.model, with_decoder=True)
        self._arena = memoryview(bytearray(ARENA_BYTES))
        self.runner = ModelRunner(self.model, self._arena)
        self._features: dict[bytes, torch.Tensor] = {}  # as the encoder cache has them

    def prompt(
        self, query: Turn, document: Turn, instruction: str | None = None, side: Side | None = "right"
    ) -> Prompt:
        """The prompt of a pair, cut to the profile's limit."""
        truncation = Truncation(self.profile.max_tokens, side)
        return self.builder.build(Conversation(instruction, (query, document)), truncation)

    def text_prompt(self, query: str, document: str, side: Side | None = "right") -> Prompt:
        """The prompt of a pair of texts."""
        return self.prompt(Turn("query", (query,)), Turn("document", (document,)), side=side)

    def logits(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """One for each prompt, all of them in one batch."""
        waiting = [self._waiting(index, prompt) for index, prompt in enumerate(prompts)]
        rows = finish(self.runner.embed(waiting), [LOGIT] * len(waiting))
        assert all(row is not None for row in rows)
        return np.concatenate([np.frombuffer(row["float32"], np.float32) for row in rows if row is not None])

    def scores(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """As the front makes them."""
        assert self.profile.scoring is not None
        logits = self.logits(prompts)
        return sigmoid(logits) if self.profile.scoring.activation == "sigmoid" else logits

    def _waiting(self, id_: int, prompt: Prompt) -> Waiting[torch.Tensor]:
        media, features = [], []
        for place in prompt.placeholders:
            slot = self._filled(place.item)
            one = Media(
                key=b"",
                grid_thw=place.grid_thw,
                offset=place.offset,
                num_tokens=place.length,
                kind=place.item.kind,
                slot=slot,
            )
            media.append(one)
            key = place.item.digest
            if key not in self._features:
                self._features[key] = self.runner.encode(one, slot)
            features.append(self._features[key])
        return Waiting(Request(id=id_, plan=prompt.plan, media=tuple(media), asks=(ScoreAsk(),)), 0.0, features)

    def _filled(self, item: MediaItem) -> PixelSlot:
        files: tuple[Any, ...] = (item.first, item.second) if isinstance(item, FramePair) else (item,)
        pixels = b"".join(load_pixels(file).tobytes() for file in files)
        self._arena[: len(pixels)] = pixels
        return PixelSlot(0, len(pixels))


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """``1 / (1 + exp(-x))``."""
    scores: np.ndarray = 1 / (1 + np.exp(-logits))
    return scores
