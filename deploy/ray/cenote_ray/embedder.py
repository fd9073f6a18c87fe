"""The embedder deployment: one replica holds one engine, with its queue, its decoders and its caches. No HTTP.

In: prompts of the ingress. Out: vectors, or typed errors. A replica takes requests only when its engine has answered
the known question, and says by itself how many tokens it holds.
"""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence

import msgspec

from cenote_ray.mirror import Mirror
from cenote_ray.wire import Ask, refused, told
from service import logs
from service.errors import ServiceError
from service.fairness.threads import Steps
from service.front.job import Job
from service.front.serving import Serving
from service.prompt.prompt import Prompt
from service.setting_sources import load_settings
from service.settings import Settings

logger = logging.getLogger("cenote.ray")

TICK_S = 0.05
BATCHES_PER_REPLICA = 4
"""Batches of `--max-batch-tokens` that may wait at a replica before another one is wanted."""


class EngineFailedError(Exception):
    """The engine can never start, or ends again and again: Ray starts another replica in this one's place."""


def _as_they_are(prompts: Sequence[Prompt | ServiceError]) -> Steps[Sequence[Prompt | ServiceError]]:
    yield from ()
    return prompts


class EmbedderReplica:
    """What Ray Serve makes of each replica."""

    async def __init__(self, settings: Mapping[str, str]) -> None:  # type: ignore[misc]  # Serve awaits it
        """Start an engine and wait until it has answered.

        Args:
            settings: as flags have them; this machine's environment fills in the others.

        Raises:
            EngineFailedError: it never will.
        """
        self._settings = engine_settings(load_settings(settings, os.environ))
        logs.configure(self._settings.log_format, self._settings.log_level)
        self._serving = Serving(self._settings)
        self._running = asyncio.create_task(self._serving.run())
        Mirror().start()
        while self._serving.health().status != "ok":
            self.check_health()
            await asyncio.sleep(TICK_S)

    async def embed(self, ask: Ask) -> bytes:
        """Every prompt's outcome; see `wire.py`."""
        prompts = ask.read()
        job = Job(
            prepare=lambda: _as_they_are(prompts),
            output=ask.output,
            num_inputs=len(prompts),
            is_short=True,
            per_item=True,
        )
        try:
            embedded = await self._serving.online().embedder.embed(job, ask.caller())
        except ServiceError as error:
            return refused(error)
        return told(embedded.outcomes, embedded.media_ms)

    async def facts(self) -> bytes:
        """What the engine says of itself."""
        return msgspec.msgpack.encode(self._serving.online().engine)

    def check_health(self) -> None:
        """Serve's own probe.

        Raises:
            EngineFailedError: another replica should be tried.
        """
        health = self._serving.health()
        if health.status in ("failed", "crash_loop"):
            raise EngineFailedError(health.detail)

    def record_autoscaling_stats(self) -> dict[str, float]:
        """What the autoscaler is told; see `autoscaling.py`."""
        most = BATCHES_PER_REPLICA * self._settings.max_batch_tokens
        return {"queued_tokens": self._serving.admission.num_tokens, "max_queued_tokens": most}


def engine_settings(settings: Settings) -> Settings:
    """The service's settings for an engine behind an ingress, where keys are asked for and vectors are shared."""
    shares_features = settings.valkey_keeps != "vectors"
    return msgspec.structs.replace(
        settings,
        api_keys=None,
        valkey_url=settings.valkey_url if shares_features else None,
        valkey_keeps="features",
    )
