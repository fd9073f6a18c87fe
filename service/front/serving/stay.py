"""A request's stay in the queue, which ends by its deadline at the latest."""

import asyncio
import time

from service.errors import DeadlineError
from service.front.admission.queues import Place, Queues
from service.front.tenant import Caller


class Stay:
    """A place in the queue for the length of a `with`; when time is up, that ends by a `DeadlineError`.

    `asyncio.timeout` with a generator around it costs a short request twice as much; cancellation is counted as there.

    Args:
        queues: where the place is.
        num_inputs: of the request.
        caller: whose it is, and until when.
        timeout_s: the service's own limit, which holds for everybody.
    """

    def __init__(self, queues: Queues, num_inputs: int, caller: Caller, timeout_s: float) -> None:
        self._queues = queues
        self._num_inputs = num_inputs
        self._caller = caller
        self._timeout_s = timeout_s
        self._is_over = False

    def __enter__(self) -> Place:
        """Take the place.

        Raises:
            UnavailableError: the queue is full.
        """
        task = asyncio.current_task()
        assert task is not None  # of a request
        self._place = self._queues.place(self._num_inputs, self._caller.tenant)
        self._task, self._num_cancelling = task, task.cancelling()
        seconds = min(self._timeout_s, self._caller.deadline_s - time.monotonic())
        self._timer = task.get_loop().call_later(max(0.0, seconds), self._end)
        return self._place

    def __exit__(self, kind: object, *_: object) -> None:
        """Give the place back.

        Raises:
            DeadlineError: it was left because time is up.
        """
        self._timer.cancel()
        self._place.close()
        if self._is_over and self._task.uncancel() <= self._num_cancelling and kind is asyncio.CancelledError:
            patience_s = self._caller.patience_s
            message = f"no answer within {min(self._timeout_s, patience_s):g} s"
            raise DeadlineError(message, is_final=patience_s < self._timeout_s) from None

    def _end(self) -> None:
        """Time is up."""
        self._is_over = True
        self._task.cancel()
