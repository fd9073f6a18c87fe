"""The engine's loop, without a process of its own."""

import queue
from typing import Any

import pytest

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.loop import EngineLoop
from service.engine.scheduling.scheduler import Scheduler
from tests.service.engine.troubled_runner import RecordingAnnouncer, TroubledRunner


@pytest.fixture
def engine() -> tuple[EngineLoop, "queue.SimpleQueue[Any]", list[Any], TroubledRunner]:
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sent: list[Any] = []
    scheduler: Scheduler[Any] = Scheduler(
        EncoderCache(1000), max_batch_tokens=1000, max_batch_requests=64, max_encoder_tokens=100
    )
    runner = TroubledRunner()
    return EngineLoop(sent.append, RecordingAnnouncer(sent), inbox, scheduler, runner), inbox, sent, runner  # type: ignore[arg-type]
