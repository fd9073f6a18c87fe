"""Embedding for those who can wait: a stream's lines outlast a full queue and an engine that is being replaced.

In: what to embed, and until when. Out: what became of it. A single request would be told 503 or 429 and come back; for
a line of a stream the service does the coming back itself, within the line's time.
"""

import asyncio
import time
from collections.abc import Callable

from schemas.errors import ErrorCode
from service.errors import UnavailableError
from service.front.embedder import Embedder
from service.front.job import Embedded, Job
from service.front.tenant import Caller

PASSING: frozenset[ErrorCode] = frozenset({"overloaded", "rate_limit_exceeded", "engine_restarting"})
"""Refusals that time heals. An input that engines die of is refused for itself in the end (`suspects.py`)."""

FIRST_WAIT_S = 0.05
MAX_WAIT_S = 1.0


async def embed_in_time(embedder: Embedder, make_job: Callable[[], Job], caller: Caller) -> Embedded:
    """What `Embedder.embed` gives, tried again while the service cannot take it.

    Args:
        embedder: does it.
        make_job: what is wanted; a job is good for one try.
        caller: who wants it, and until when.

    Raises:
        ServiceError: as `Embedder.embed` does; a refusal that time would heal only when the time is over.
    """
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await embedder.embed(make_job(), caller)
        except UnavailableError as error:
            if error.code not in PASSING or time.monotonic() + wait_s >= caller.deadline_s:
                raise
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, MAX_WAIT_S)
