"""The embedder deployment: one replica holds one engine, with its queue, its decoders and its caches. No HTTP.

In: prompts of the ingress. Out: vectors, or typed errors. A replica takes requests only when its engine has passed the
health probe, and reports how many tokens it holds.
"""

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from cenote_ray.mirror import Mirror
from cenote_ray.wire import Ask, refused, told
from service import logs
from service.errors import ServiceError
from service.front.hub.hosted_front import HostedFront
from service.front.serving.serving import Serving
from service.settings.setting_sources import load_settings
from service.settings.settings import Settings

logger = logging.getLogger("cenote.ray")

TICK_S = 0.05
BATCHES_PER_REPLICA = 4
"""Batches of `--max-batch-tokens` that may wait at a replica before another replica is added."""


class EngineFailedError(Exception):
    """The engine cannot start, or keeps dying: Ray replaces the replica."""


class EmbedderReplica:
    """One replica of the embedder."""

    async def __init__(self, settings: Mapping[str, Any], model: int = 0) -> None:  # type: ignore[misc]  # Serve awaits it
        """Start an engine and wait until it is ready.

        Args:
            settings: of the service; they override the machine's environment.
            model: its place among those served.

        Raises:
            EngineFailedError: the engine cannot start.
        """
        self._settings = engine_settings(load_settings(settings, os.environ).of_each_model[model])
        logs.configure(self._settings.log_format, self._settings.log_level)
        self._serving = Serving(self._settings, HostedFront(self._settings))
        self._running = asyncio.create_task(self._serving.run())
        Mirror().start()
        while self._serving.health().status != "ok":
            self.check_health()
            await asyncio.sleep(TICK_S)

    async def embed(self, ask: Ask) -> bytes:
        """The result of every prompt; see `wire.py`."""
        try:
            embedder = self._serving.main().embedder
            result = await embedder.embed_prompts(ask.read(), ask.asks, ask.caller())
        except ServiceError as error:
            return refused(error)
        return told(result.inputs, result.media_ms)

    async def facts(self) -> bytes:
        """The engine's `Ready` message."""
        return msgspec.msgpack.encode(self._serving.main().engine)

    def check_health(self) -> None:
        """Serve's health check.

        Raises:
            EngineFailedError: another replica should be tried.
        """
        health = self._serving.health()
        if health.status in ("failed", "crash_loop"):
            raise EngineFailedError(health.detail)

    def record_autoscaling_stats(self) -> dict[str, float]:
        """Figures for the autoscaler; see `autoscaling.py`."""
        most = BATCHES_PER_REPLICA * self._settings.max_batch_tokens
        return {"queued_tokens": self._serving.queue.held.num_tokens, "max_queued_tokens": most}


def engine_settings(settings: Settings) -> Settings:
    """Settings of an engine behind an ingress, which checks keys and shares vectors."""
    shares_features = settings.valkey_keeps != "vectors"
    return msgspec.structs.replace(
        settings,
        api_keys=None,
        valkey_url=settings.valkey_url if shares_features else None,
        valkey_keeps="features",
    )
