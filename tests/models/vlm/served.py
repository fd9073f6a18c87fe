"""The service's own way from a conversation to a vector, without its sockets: header, prompt, pixels, runner."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.waiting import Waiting
from service.ipc.messages import Media, PixelSlot, Request
from service.media.image.decode import load_pixels
from service.media.image.image_file import ImageFile
from service.media.read_options import ImageReadOptions
from service.model.architectures import load_model
from service.model.stock.stock_vlm import StockVlm
from service.outputs.dense import DenseAsk
from service.prompt.build import PromptBuilder
from service.prompt.conversation import Conversation, Turn
from service.prompt.detect import load_profile
from service.prompt.profile.profile import MULTI_VECTOR
from service.prompt.prompt import Prompt
from service.prompt.tokenizer.tokenizer import PromptTokenizer
from service.prompt.truncation import Truncation
from tests.builders import image_file

ARENA_BYTES = 1 << 24
Case = tuple[str, list[Image.Image], str | None]
"""A text, images and an instruction."""
Script = Callable[[str, list[Image.Image], str | None], np.ndarray]
"""Gives the vector of a case as its model's own code does."""


class Served:
    """One checkpoint, loaded as the engine loads it."""

    def __init__(self, folder: Path, family: str | None = None) -> None:
        self.profile = load_profile(folder, family)
        self.builder = PromptBuilder(self.profile, PromptTokenizer(folder))
        device, profile = torch.device("cpu"), self.profile
        self.model: Any = load_model(profile.architecture, folder, device, torch.float32, profile.pooling)
        self._arena = memoryview(bytearray(ARENA_BYTES))
        self.runner = ModelRunner(self.model, self._arena, is_multi_vector=self.profile.pooling == MULTI_VECTOR)

    @contextmanager
    def running(self, model: StockVlm) -> Iterator[None]:
        """Another model in the place of the one that was loaded."""
        before, self.runner = self.runner, ModelRunner(model, self._arena)
        try:
            yield
        finally:
            self.runner = before

    def item(self, image: Image.Image) -> ImageFile:
        """An image as a request brings it."""
        assert self.profile.images is not None
        options = ImageReadOptions(self.profile.images.background)
        return image_file(image, self.profile.images.pixel_rule, options=options)

    def prompt(self, text: str, images: Sequence[Image.Image] = (), instruction: str | None = None) -> Prompt:
        """The prompt of one user turn."""
        turn = Turn("user", (*map(self.item, images), text))
        return self.builder.build(Conversation(instruction, (turn,)), Truncation(self.profile.max_tokens))

    def vectors(self, prompts: Sequence[Prompt]) -> np.ndarray:
        """One row for each prompt, or for each chunk of one, all of them in one batch."""
        waiting = [self._waiting(index, prompt) for index, prompt in enumerate(prompts)]
        rows = self.runner.finish(self.runner.embed(waiting), [one.request for one in waiting])
        made = np.concatenate([np.frombuffer(row["float32"], np.float32) for row in rows if row is not None])
        return made.reshape(-1, self.profile.dimensions)

    def difference(self, script: Script, *cases: Case) -> float:
        """How far the largest of all numbers is from the script's, the cases in one batch."""
        got = self.vectors([self.prompt(*case) for case in cases])
        return float(np.abs(got - np.stack([script(*case) for case in cases])).max())

    def _waiting(self, id_: int, prompt: Prompt) -> Waiting[torch.Tensor]:
        media, features = [], []
        for place in prompt.placeholders:
            slot = self._filled(place.item)
            one = Media(key=b"", grid_thw=place.grid_thw, offset=place.offset, num_tokens=place.length, slot=slot)
            media.append(one)
            features.append(self.runner.encode(one, slot))
        output = DenseAsk(dimensions=self.profile.dimensions)
        request = Request(id=id_, plan=prompt.plan, media=tuple(media), asks=(output,))
        return Waiting(request, 0.0, features)

    def _filled(self, item: object) -> PixelSlot:
        assert isinstance(item, ImageFile)
        pixels = load_pixels(item).tobytes()
        self._arena[: len(pixels)] = pixels
        return PixelSlot(0, len(pixels))
