"""Refuses prompts that nobody could do by their deadline, before they cost anything or as soon as that is known."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

from service.errors import DeadlineError
from service.front.admission.forward_rate import ForwardRate, Tokens
from service.front.engine_client.pending import Pending, Wait
from service.front.tenant import Caller
from service.ipc.messages import AreKept, AskKept, Request
from service.ipc.prompt_digest import prompt_digest
from service.outputs.ask import needs
from service.outputs.block import Vector

TIMES = 2.0
"""Refused is what takes so many times the time that is left, at the best rate and with nothing else to do."""

Ran = tuple[Vector, Tokens]
"""An answer and its prompt."""

ANSWER_S = 2.0
"""An engine in a long step does not say in time which vectors are kept; then those may be all."""

LOOK_S = 1.0
"""Interval at which the rest of a request is looked at, once the first of it is there."""


def check_in_time(forwards: ForwardRate, prompts: Collection[Tokens], caller: Caller) -> None:
    """Pass if prompts, without those whose vectors are there, may be done by the caller's deadline.

    Raises:
        DeadlineError: they cannot be.
    """
    enough_s = TIMES * max(0.0, caller.deadline_s - time.monotonic())
    least_s = forwards.least_s(prompts, enough_s)
    if least_s > enough_s:
        raise too_much(sum(map(len, prompts)), least_s, caller)


def too_much(num_tokens: int, least_s: float, caller: Caller) -> DeadlineError:
    """The error for so many tokens, which take so long at least."""
    left_s = max(0.0, caller.deadline_s - time.monotonic())
    message = (
        f"{num_tokens} tokens cannot be done in time: at {num_tokens / least_s:.0f} tokens per second, the most that "
        f"was measured lately, they take {least_s:.0f} s, and {left_s:.1f} of {caller.patience_s:g} s are left. Send "
        "fewer or shorter inputs at once, or allow more time"
    )
    return DeadlineError(message, is_final=True)


def note_forward(forwards: ForwardRate, ran: Sequence[Ran]) -> None:
    """Note how long the model took for what the engine has just answered, if it ran."""
    vector, _ = ran[0]
    if not vector.num_batched:
        return
    prompts = [token_ids for vector, token_ids in ran if not vector.is_cached]
    if prompts:
        forwards.ran(prompts, len(ran) / vector.num_batched, vector.inference_ms / 1e3)


class KeptQuestions:
    """Asks the engine which prompts have a kept vector."""

    def __init__(self) -> None:
        self._asked: dict[int, asyncio.Future[list[bool]]] = {}

    async def ask(self, requests: Sequence[Request], send: Callable[[AskKept], None]) -> Sequence[Request] | None:
        """Those without one; None where the engine does not say so in time.

        Args:
            requests: without media.
            send: the question.
        """
        digests = await asyncio.to_thread(lambda: [prompt_digest(one, salt=one.tenant) for one in requests])
        id_ = requests[0].id
        self._asked[id_] = answer = asyncio.get_running_loop().create_future()
        try:
            send(AskKept(id=id_, digests=digests))
            are_kept = await asyncio.wait_for(answer, ANSWER_S)
        except TimeoutError:
            return None
        finally:
            del self._asked[id_]
        return [one for one, is_kept in zip(requests, are_kept, strict=True) if not is_kept]

    def answered(self, message: AreKept) -> None:
        """Hand an answer to who has asked, if that still waits."""
        answer = self._asked.get(message.id)
        if answer is not None and not answer.done():
            answer.set_result(message.are_kept)


async def over_in_time(wait: Wait, forwards: ForwardRate, pending: Collection[Pending], caller: Caller) -> None:
    """Wait for what was sent, and look at what is left of it meanwhile.

    Kept vectors are answered before the first of a request runs, so what is left then has to run.

    Raises:
        DeadlineError: it cannot be done in time.
    """
    while not await wait.is_over_within(LOOK_S):
        left = [one.request for one in pending if one.outcome is None]
        if len(left) < len(pending):
            await asyncio.to_thread(check_in_time, forwards, [one.plan.ids for one in left if _is_run(one)], caller)


def _is_run(request: Request) -> bool:
    """True if the language model runs for a request that has no kept vector."""
    return needs(request.asks) != "nothing" and request.plan.needs_forward
