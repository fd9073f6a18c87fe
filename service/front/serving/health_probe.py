"""The question whose answer the service knows: asked through the whole path whenever an engine has started.

The first engine's answer, which its own self-check has held against the stock forward, is what every later engine
must give again.
"""

import asyncio
import io
import wave

import numpy as np
from PIL import Image

from service.errors import ModelError
from service.front.engine_client.engine_host import PromptEngine
from service.front.served_model import ServedModel
from service.front.tenant import SERVICE
from service.media.audio.audio_file import AudioInfo, OpenAudio
from service.media.audio.samples import Audio
from service.media.image.header import DecodeLimits
from service.media.image.image_file import open_image
from service.media.key import file_digest
from service.outputs.ask import Wanted
from service.prompt.conversation import Conversation
from service.prompt.prompt import Prompt
from service.prompt.truncation import Truncation

MIN_COSINE = 0.999
MAX_DIFFERENCE = 0.02
"""Of logits and weights, relative to 1 and more: an engine in bfloat16 adds up in another order in another batch."""
SIDE_PIXELS = 64


class HealthProbe:
    """A text and, where the model takes them, an image and an audio file, and the vectors that they had at first."""

    def __init__(
        self, model: ServedModel, engine: PromptEngine, *, timeout_s: float, takes_audio: bool = False
    ) -> None:
        """Ask `engine` for vectors of `model`; `takes_audio` where audio files can be decoded."""
        self._model = model
        self._engine = engine
        self._timeout_s = timeout_s
        self._takes_audio = takes_audio
        self._first = np.empty(0, np.float32)  # none yet

    async def ask(self) -> None:
        """Embed the probe.

        Raises:
            ModelError: the answer is not the first one.
            ServiceError: there was no answer.
        """
        own, offer = self._model.own, self._model.offer
        ask = own.of(Wanted(own.types[:1], offer.dimensions, normalize=True), offer)
        prompts = await asyncio.to_thread(self._prompts)
        self._engine.check_open(is_probe=True)
        async with asyncio.timeout(self._timeout_s):
            result = await self._engine.run(dict(enumerate(prompts)), (ask,), SERVICE, per_item=False)
        rows = [row for one in result.embedded for row in one.vector.rows.values()]  # one each
        answer = np.concatenate([ask.numbers(row, offer.dimensions) for row in rows])
        if not self._first.size:
            self._first = answer
        if ask.is_unit:
            cosine = float((answer * self._first).sum(axis=1).min())
            is_right, found = cosine >= MIN_COSINE, f"embedding has cosine {cosine:.6f} to the first one"
        else:
            difference = float((np.abs(answer - self._first) / (1 + np.abs(self._first))).max())
            is_right, found = difference <= MAX_DIFFERENCE, f"score is {difference:.6f} off the first one"
        if not is_right:
            raise ModelError("internal_error", f"the known-answer {found}")

    def _prompts(self) -> list[Prompt]:
        rule, text = self._model.pixel_rule, "Is this the image it was?"
        images = () if rule is None else (open_image(_image(), DecodeLimits(), rule),)
        profile = self._model.profile
        prompts = [profile.turns_about(text, images)]
        if images and not profile.mixes:
            prompts = [profile.turns_about(text)] if "text" in profile.modalities else []
            prompts.append(profile.turns_about(images=images))
        if self._takes_audio and profile.audios is not None:
            prompts.append(
                profile.turns_about(images=(Audio.of(_audio(profile.audios.rule.rate_hz), profile.audios.rule),))
            )
        unbounded = Truncation(profile.max_tokens, "right")
        return [self._model.builder.build(Conversation(None, turns), unbounded) for turns in prompts]


def _image() -> bytes:
    y, x = np.mgrid[0:SIDE_PIXELS, 0:SIDE_PIXELS]
    pixels = np.stack([4 * x, 4 * y, 255 - 2 * (x + y)], axis=-1).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _audio(rate_hz: int) -> OpenAudio:
    """Half a second of a tone that rises."""
    times = np.arange(rate_hz // 2) / rate_hz
    samples = (8000 * np.sin(2 * np.pi * (300 + 900 * times) * times)).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(samples.tobytes())
    encoded = buffer.getvalue()
    duration_s = len(samples) / rate_hz
    info = AudioInfo(rate_hz=rate_hz, num_channels=1, duration_s=duration_s, num_samples=len(samples))
    return OpenAudio(encoded, "wav", info, file_digest(encoded))
