"""The health probe of the ingress, sent through the ring: `/readyz` answers by it.

Each replica also probes its own engine before Ray sends it any request.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import msgspec
from ray.serve.handle import DeploymentHandle

from service.engine_series import EngineSeries
from service.errors import ModelError
from service.front.engine_client.front_link import EngineState
from service.ipc.messages import Ready

logger = logging.getLogger("cenote.ray")

ANSWER_S = 15.0
"""Time limit of a health probe, after which no replica counts as available."""
AGAIN_S = 0.5


class Watch:
    """A `Keeper` that only probes: Ray keeps the replicas.

    Attributes:
        state: state for `/readyz`.
        detail: one sentence about it, or None.
        ready: the `Ready` message of a replica's engine.
    """

    def __init__(
        self,
        handle: DeploymentHandle,
        known_answer: Callable[[], Awaitable[None]],
        known_answer_s: float,
        name: str,
    ) -> None:
        """Probe every `known_answer_s`; the series of the model of that name say what came of it."""
        self.state: EngineState = "loading"
        self.detail: str | None = "no replica has answered yet"
        self.ready: Ready | None = None
        self._handle = handle
        self._known_answer = known_answer
        self._known_answer_s = known_answer_s
        self._series = EngineSeries(name)

    async def run(self) -> None:
        """Probe until cancelled."""
        while True:
            is_right = await self._is_right()
            self._series.engine_ready.set(is_right)
            if is_right:
                self.state, self.detail = "ready", None
            elif self.state == "ready":
                self.state, self.detail = "restarting", "no replica answers the known question"
            await asyncio.sleep(self._known_answer_s if is_right else AGAIN_S)

    def end(self) -> None:
        """Do nothing: Serve lets requests finish before it ends a replica."""

    async def _is_right(self) -> bool:
        try:
            async with asyncio.timeout(ANSWER_S):
                facts = msgspec.msgpack.decode(await self._handle.facts.remote(), type=Ready)
                if self.ready is None or self.ready.model_digest != facts.model_digest:
                    self.ready = facts  # replicas have other weights now, and the fingerprint changes
                await self._known_answer()
        except ModelError as error:
            self._series.wrong_answers.inc()
            logger.error("a replica gave a wrong answer: %s", error)
        except Exception as error:  # noqa: BLE001  # Ray has dozens, all with the same meaning here
            logger.warning("the health probe was not answered: %s", type(error).__name__)
        else:
            return True
        return False
