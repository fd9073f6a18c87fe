"""The question whose answer the service knows: asked through the whole path whenever an engine has started.

The first engine's answer, which its own self-check has held against the stock forward, is what every later engine
must give again.
"""

import asyncio
import io

import numpy as np
from PIL import Image

from service.errors import ModelError
from service.front.embedder import Embedder
from service.front.served_model import ServedModel
from service.ipc.messages import OutputSpec
from service.media.header import DecodeLimits
from service.media.item import open_image
from service.prompt.conversation import Conversation, Turn
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation

MIN_COSINE = 0.999
SIDE_PIXELS = 64


class KnownAnswer:
    """A text and, where the model sees any, a picture, together or apart, and the vectors that they had at first."""

    def __init__(self, model: ServedModel, embedder: Embedder) -> None:
        self._model = model
        self._embedder = embedder
        self._first: np.ndarray | None = None

    async def ask(self) -> None:
        """Embed the probe.

        Raises:
            ModelError: the answer is not the first one.
            ServiceError: there was no answer.
        """
        output = OutputSpec(dimensions=self._model.profile.dimensions)
        prompts = await asyncio.to_thread(self._prompts)
        embedded = await self._embedder.probe(prompts, output)
        rows = [np.frombuffer(one.vector.rows["float32"], np.float32) for one in embedded.answered]
        answer = np.concatenate([row.reshape(-1, output.dimensions) for row in rows])
        if self._first is None:
            self._first = answer
        cosine = float((answer * self._first).sum(axis=1).min())
        if not cosine >= MIN_COSINE:
            raise ModelError("internal_error", f"the known-answer embedding has cosine {cosine:.6f} to the first one")

    def _prompts(self) -> list[Prompt]:
        rule, text = self._model.pixel_rule, "Is this the picture it was?"
        images = () if rule is None else (open_image(_picture(), DecodeLimits(), rule),)
        turns = [Turn("user", images, text)]
        if images and not self._model.profile.mixes:
            turns = [Turn("user", (), text), Turn("user", images)]
        unbounded = Truncation(self._model.profile.max_tokens)
        return [self._model.builder.build(Conversation(None, (turn,)), unbounded) for turn in turns]


def _picture() -> bytes:
    y, x = np.mgrid[0:SIDE_PIXELS, 0:SIDE_PIXELS]
    pixels = np.stack([4 * x, 4 * y, 255 - 2 * (x + y)], axis=-1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
