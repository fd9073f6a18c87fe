"""The embedder deployment as an `EngineHost` of the front: prompts go to the replicas that own them.

Ray's router finds the owner and the next on its ring where the owner is busy or gone; a call whose replica
is lost is retried, since embedding has no side effects. Knows neither HTTP nor the model.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context

from ray import exceptions as lost
from ray.serve.exceptions import BackPressureError
from ray.serve.handle import DeploymentHandle, DeploymentResponse

from cenote_ray.routing import Call, calls_of
from cenote_ray.watch import Watch
from cenote_ray.wire import Ask, read_answer
from service.accounting import stage
from service.errors import ServiceError, UnavailableError
from service.front.engine_client.engine_host import HostNeeds
from service.front.job import EmbedResult, InputResult, raise_first
from service.front.tenant import Caller
from service.outputs.ask import Asks
from service.prompt.prompt import Prompt

logger = logging.getLogger("cenote.ray")

MAX_TRIES = 3
"""Attempts of a call whose replica is lost; the second may be lost with the same node."""
RETRY_AFTER_S = 2
LOST = (lost.RayActorError, lost.WorkerCrashedError, lost.ObjectLostError, lost.NodeDiedError)


class Replicas:
    """An `EngineHost` with remote engines."""

    def __init__(self, handle: DeploymentHandle, needs: HostNeeds, *, has_affinity: bool = True) -> None:
        """Call the deployment of `handle`: each input's owner or, without affinity, any replica."""
        self._has_affinity = has_affinity
        self._handle = handle
        self._needs = needs
        self._watch: Watch | None = None

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> Watch:
        """The health probe; Ray keeps the replicas."""
        self._watch = Watch(self._handle, known_answer, self._needs.settings.known_answer_s, self._needs.model.name)
        return self._watch

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass once a replica has passed the health probe; see `PromptEngine.check_open`."""
        if not is_probe and (self._watch is None or self._watch.state != "ready"):
            raise UnavailableError(
                "engine_restarting", "no replica answers now; send the request again", retry_after_s=RETRY_AFTER_S
            )

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], asks: Asks, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        """The result of every prompt; see `PromptEngine.run`. The first error is that of the first input."""
        raise_first(() if per_item else prepared.values())
        prompts = {index: one for index, one in prepared.items() if isinstance(one, Prompt)}
        with stage("engine"):
            results, media_ms = await self._make_all(calls_of(prompts), prompts, asks, caller)
        ends = [one if isinstance(one, ServiceError) else results[index] for index, one in prepared.items()]
        raise_first(() if per_item else ends)
        return EmbedResult(ends, media_ms)

    async def _make_all(
        self, calls: Sequence[Call], prompts: Mapping[int, Prompt], asks: Asks, caller: Caller
    ) -> tuple[dict[int, InputResult], float]:
        tasks = [asyncio.create_task(self._make(call, prompts, asks, caller)) for call in calls]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()  # of a failed or abandoned request; no effect on tasks that are done
        pairs = zip(calls, answers, strict=True)
        results = {index: one for call, (ends, _) in pairs for index, one in zip(call.indices, ends, strict=True)}
        return results, max((media_ms for _, media_ms in answers), default=0.0)

    async def _make(
        self, call: Call, prompts: Mapping[int, Prompt], asks: Asks, caller: Caller
    ) -> tuple[list[InputResult], float]:
        mine = [prompts[index] for index in call.indices]
        answer = await self._ask(call, Ask.of(mine, asks, caller))
        self._needs.rate.finished(sum(len(prompt.plan.ids) for prompt in mine))
        return read_answer(answer, mine, call.indices)

    async def _ask(self, call: Call, ask: Ask) -> bytes:
        for _ in range(MAX_TRIES):
            response = self._remote(call, ask)
            try:
                answer: bytes = await response
            except LOST as error:
                logger.warning("a replica was lost (%s); its call is made again", type(error).__name__)
            except BackPressureError:
                message = "every replica that may take this input has as many requests as it may hold"
                raise UnavailableError("overloaded", message, retry_after_s=RETRY_AFTER_S) from None
            except asyncio.CancelledError:
                response.cancel()
                raise
            else:
                return answer
        message = "the replicas that were asked have ended; send the request again"
        raise UnavailableError("engine_restarting", message, retry_after_s=RETRY_AFTER_S)

    def _remote(self, call: Call, ask: Ask) -> DeploymentResponse:
        """Start a call in an empty context, outside its HTTP request.

        Ray 2.60 gives all calls of a request the request's internal id, by which its router tells waiting calls apart:
        two at once get each other's replicas, or none ever. Without a context each call has its own id.
        """
        key = call.key if self._has_affinity else ""  # the ring uses the call's own id
        return Context().run(self._handle.options(method_name="embed", session_id=key).remote, ask)
