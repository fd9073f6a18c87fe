"""The engine's end of a real socket pair, played step by step by tests of the client."""

import socket
from itertools import count
from types import SimpleNamespace
from typing import cast

from service.decode.image_decoder import ThreadDecoder
from service.decode.start import Decoders
from service.engine_series import ClientSeries
from service.front.admission.budget import DrainRate
from service.front.admission.forward_rate import ForwardRate
from service.front.admission.shared_table import SharedTable
from service.front.engine_client.client import EngineClient
from service.front.engine_client.local_engine import LocalEngine
from service.front.engine_client.pending import Pending, all_settled
from service.front.engine_client.pixel_loader import PixelLoader
from service.ipc.arena import PixelArena
from service.ipc.channel import AsyncChannel
from service.ipc.messages import EngineMessage, FrontMessage, StepStarted, Submit
from service.ipc.reports import CacheReport
from service.media.image.image_file import ImageFile
from service.media.resize.image_rule import PixelRule
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan
from service.prompt.prompt import Placeholder, Prompt
from service.settings.settings import Settings
from tests.builders import image_file, noise

RULE = PixelRule(factor=32, min_pixels=4096, max_pixels=1_843_200, max_aspect=200)
ASKS: Asks = (DenseAsk(dimensions=8),)
CACHE = CacheReport(num_entries=0, num_bytes=0, num_evictions=0)


def item(seed: int) -> ImageFile:
    return image_file(noise(64, 64, seed), RULE)


def prompt(*items: ImageFile) -> Prompt:
    places = tuple(Placeholder(i * 4, 4, one.grid_thw, one) for i, one in enumerate(items))
    return Prompt(TokenPlan([1] * (4 * len(items) + 1)), places, truncated=False)


class Stage:
    """A client, its arena, and the engine's end of the line."""

    def __init__(self, forwards: ForwardRate | None = None) -> None:
        self.arena = PixelArena(1 << 20)
        self.loader = PixelLoader(
            self.arena,
            b"model",
            ThreadDecoder(num_threads=1, max_bytes=1 << 30, deadline_s=60),
            Decoders(Settings(), 1),
            num_threads=1,
        )
        rates = DrainRate(SharedTable.of_one_front()), forwards or ForwardRate(8192)
        self.client = EngineClient(self.arena, self.loader, *rates, ClientSeries("tiny"), count(1))

    def check_open(self, *, is_probe: bool = False) -> None:
        LocalEngine.check_open(cast(LocalEngine, SimpleNamespace(_client=self.client)), is_probe=is_probe)

    async def connect(self) -> AsyncChannel[FrontMessage]:
        ours, theirs = socket.socketpair()
        self.client.attach(await AsyncChannel.over(ours, EngineMessage))
        self.client.open()
        return await AsyncChannel.over(theirs, FrontMessage)

    async def submit(self, *items: ImageFile) -> Pending:
        loaded = await self.loader.load(items)
        (pending,) = self.client.submit([(prompt(*items), [loaded.take(one) for one in items])], ASKS)
        return pending


async def outcome_of(pending: Pending) -> Vector:
    """Its vector, once it is there; or its error is raised."""
    await all_settled([pending], per_item=True)
    if isinstance(pending.outcome, Exception):
        raise pending.outcome
    assert pending.outcome is not None
    return pending.outcome


def vector(id_: int) -> Vector:
    return Vector(id=id_, rows={"float32": b"\0" * 32}, num_hits=0, num_misses=1, queue_ms=0.0, inference_ms=1.0)


def entered(number: int, *submitted: Pending) -> StepStarted:
    ids = [pending.request.id for pending in submitted]
    return StepStarted(number=number, kind="forward", num_tokens=1, ids=ids, began_s=0.0)


async def next_submit(engine: AsyncChannel[FrontMessage]) -> Submit:
    message = await engine.receive()
    assert isinstance(message, Submit)
    return message
