"""A real engine in this process: loop, scheduler and runner on the oracle's weights; only the socket is a list.

Contents are drawn from a pool whose solo vectors are taken first, so that any batch can be held against them.
"""

import gc
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import torch

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.execution.runner import ModelRunner
from service.engine.scheduling.scheduler import Scheduler
from service.ipc.messages import Failure, Media, PixelSlot, Request
from service.model.architectures import load_model
from service.outputs.block import Vector
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from tests.conftest import CHECKPOINT, TOLERANCE
from tests.service.engine.loop_rig import LoopRig, vectors_of

SIDES = ((64, 64), (64, 96), (96, 96), (128, 64))
NUM_IMAGES = 16
NUM_WORDS = 200
"""Token ids below this are plain text in the oracle's vocabulary."""
POISON_TOKEN = 7
"""Its embedding is NaN: a prompt that holds it has no vector. Never drawn as a word."""

Answer = Vector | Failure


@dataclass(frozen=True)
class Content:
    """A request without its id."""

    token_ids: list[int]
    media: tuple[Media, ...] = ()

    def request(self, id_: int, dimensions: int) -> Request:
        return Request(
            id=id_, plan=TokenPlan(self.token_ids), media=self.media, asks=(DenseAsk(dimensions=dimensions),)
        )


class OwnEngine:
    """The engine, its images, and answers by request id.

    Args:
        wrap: puts trouble around the runner.
    """

    def __init__(self, wrap: Callable[[ModelRunner], Any] = lambda runner: runner) -> None:
        logging.disable(logging.CRITICAL)  # each contained failure is a trace in the log, thousands of them
        torch.set_num_threads(1)
        model = load_model("qwen3_vl", CHECKPOINT, torch.device("cpu"), torch.float32, "last_token")
        stock: Any = model.own_decoder and model.own_decoder.stock
        with torch.no_grad():
            stock.language_model.embed_tokens.weight[POISON_TOKEN] = float("nan")
        self.config = stock.config
        sizes = [SIDES[index % len(SIDES)] for index in range(NUM_IMAGES)]
        pixels = np.random.default_rng(0).integers(0, 256, sum(3 * h * w for h, w in sizes), dtype=np.uint8)
        self.images = _slots(sizes)
        self._hidden = model.own.hidden_size
        self.runner = ModelRunner(model, memoryview(pixels.tobytes()))
        self.scheduler: Scheduler[torch.Tensor] = Scheduler(
            EncoderCache(1 << 28), max_batch_tokens=8192, max_batch_requests=64, max_encoder_tokens=2048
        )
        self._rig = LoopRig(self.scheduler, wrap(self.runner))
        self._next_id = 1
        gc.freeze()  # as the worker does

    def pairs(self, draw: random.Random, num: int) -> list[Content]:
        """Contents that begin alike and end each with its own, as the pairs of one query do; half show other images."""
        query = self.content(draw, range(40, 60))
        queries = (query, replace(query, media=tuple(map(self._other_of_its_size, query.media))))
        return [_joined(queries[number % 2], self.content(draw)) for number in range(num)]

    def _other_of_its_size(self, media: Media) -> Media:
        place = next(place for place, image in enumerate(self.images) if image.key == media.key)
        other = self.images[(place + len(SIDES)) % NUM_IMAGES]
        return msgspec.structs.replace(other, offset=media.offset)

    def content(self, draw: random.Random, num_words: range = range(1, 24)) -> Content:
        """Some words, and nought to two images among them."""
        token_ids, media = words(draw, num_words), []
        for _ in range(draw.choice((0, 1, 1, 2))):
            image = draw.choice(self.images)
            token_ids.append(self.config.vision_start_token_id)
            media.append(msgspec.structs.replace(image, offset=len(token_ids)))
            token_ids += [self.config.image_token_id] * image.num_tokens + [self.config.vision_end_token_id]
            token_ids += words(draw)
        return Content(token_ids, tuple(media))

    def ask(self, contents: Sequence[Content]) -> list[Answer]:
        """The answers to contents that come together, in order."""
        requests = [one.request(self._next_id + i, self._hidden) for i, one in enumerate(contents)]
        self._next_id += len(requests)
        self._rig.submit(*requests)
        answers: dict[int, Answer] = {}
        while len(answers) < len(requests):
            self._rig.sent.clear()
            self._rig.turn()
            for step in self._rig.steps:
                found: list[Answer] = [*vectors_of(step), *step.failures]
                assert not {one.id for one in found} & answers.keys(), "a request was answered twice"
                answers.update((one.id, one) for one in found)
        return [answers[request.id] for request in requests]

    def wrong_in(self, batch: Sequence[tuple[Content, np.ndarray | None]]) -> list[int]:
        """Ask contents together; indexes of those that got anything but their solo vectors, or, with none, an error."""
        answers = self.ask([content for content, _ in batch])
        return [
            i for i, (answer, (_, solo)) in enumerate(zip(answers, batch, strict=True)) if not _is_right(answer, solo)
        ]

    def vector(self, content: Content) -> np.ndarray:
        """The vector of a content by itself."""
        (answer,) = self.ask([content])
        assert isinstance(answer, Vector), answer
        return row(answer)


def row(vector: Vector) -> np.ndarray:
    return np.frombuffer(vector.rows["float32"], np.float32)


def _is_right(answer: Answer, solo: np.ndarray | None) -> bool:
    """True if a content that has a solo vector got just that, and one that has none got an error."""
    if solo is None or isinstance(answer, Failure):
        return solo is None and isinstance(answer, Failure)
    return bool(np.abs(row(answer) - solo).max() <= TOLERANCE)


def words(draw: random.Random, num: range = range(1, 24)) -> list[int]:
    return [draw.randrange(10, NUM_WORDS) for _ in range(draw.choice(num))]


def _joined(one: Content, other: Content) -> Content:
    """One content behind the other."""
    start = len(one.token_ids)
    moved = (msgspec.structs.replace(media, offset=media.offset + start) for media in other.media)
    return Content([*one.token_ids, *other.token_ids], (*one.media, *moved))


def _slots(sizes: Sequence[tuple[int, int]]) -> list[Media]:
    images, start = [], 0
    for index, (height, width) in enumerate(sizes):
        num_bytes = 3 * height * width
        grid_thw, num_tokens = (1, height // 16, width // 16), height * width // 1024
        slot = PixelSlot(start, num_bytes)
        images.append(Media(key=bytes([index]) * 32, grid_thw=grid_thw, offset=0, num_tokens=num_tokens, slot=slot))
        start += num_bytes
    return images
