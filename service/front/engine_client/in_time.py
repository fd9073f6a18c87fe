"""Refuses prompts that nobody could do by their deadline, before they cost anything or as soon as that is known."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

from service.errors import DeadlineError
from service.front.admission.forward_rate import ForwardRate, Tokens
from service.front.engine_client.pending import Pending
from service.front.tenant import Caller
from service.ipc.messages import AreKept, AskKept, Request
from service.ipc.prompt_digest import prompt_digest
from service.outputs.ask import needs

TIMES = 2.0
"""Refused is what takes so many times the time that is left, at the best rate and with nothing else to do."""

ANSWER_S = 2.0
"""An engine in a long step does not say in time which vectors are kept; then those may be all."""

LOOK_S = 1.0
"""Interval at which the rest of a request is looked at, once the first of it is there."""


def check_in_time(forwards: ForwardRate, prompts: Collection[Tokens], caller: Caller) -> None:
    """Pass if prompts whose vectors are not there may be done by the caller's deadline; else DeadlineError."""
    enough_s = TIMES * max(0.0, caller.deadline_s - time.monotonic())
    least_s = forwards.least_s(prompts, enough_s)
    if least_s > enough_s:
        num_tokens, left_s = sum(map(len, prompts)), max(0.0, caller.deadline_s - time.monotonic())
        message = (
            f"{num_tokens} tokens cannot be done in time: at {num_tokens / least_s:.0f} tokens per second, the most "
            f"that was measured lately, they take {least_s:.0f} s, and {left_s:.1f} of {caller.patience_s:g} s are "
            "left. Send fewer or shorter inputs at once, or allow more time"
        )
        raise DeadlineError(message, is_final=True)


class KeptQuestions:
    """Asks the engine which prompts have a kept vector."""

    def __init__(self) -> None:
        self._asked: dict[int, asyncio.Future[list[bool]]] = {}

    async def ask(self, requests: Sequence[Request], send: Callable[[AskKept], None]) -> Sequence[Request] | None:
        """Those, all without media, that have none; None where the engine does not say so in time."""
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


async def over_in_time(
    over: asyncio.Future[None], forwards: ForwardRate, pending: Collection[Pending], caller: Caller
) -> None:
    """Wait for what was sent, and look at what is left of it meanwhile. DeadlineError: it cannot be done in time.

    Kept vectors are answered before the first of a request runs, so what is left then has to run.
    """
    while not (await asyncio.wait([over], timeout=LOOK_S))[0]:
        left = [one.request for one in pending if one.outcome is None]
        if len(left) < len(pending):
            ids = [one.plan.ids for one in left if needs(one.asks) != "nothing" and one.plan.needs_forward]
            await asyncio.to_thread(check_in_time, forwards, ids, caller)
