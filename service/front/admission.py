"""The bounded queue: a request takes a place before anything is done for it, and leaves when everything is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from service import metrics
from service.errors import UnavailableError

MAX_RETRY_S = 30


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """What may be under way at once."""

    max_inputs: int
    max_tokens: int
    max_bytes: int
    """Bytes of request bodies that are held, and of features on their way to answers."""


@dataclass(slots=True)
class Load:
    """An amount of work: of one request, or of all."""

    num_inputs: int = 0
    num_tokens: int = 0
    num_bytes: int = 0


class Admission:
    """Counts what is under way and refuses what is too much.

    A request that is over a limit by itself still gets a place when it is alone, so nothing is refused for ever.
    """

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._all = Load()
        self._tokens_per_s = 1000.0

    @contextmanager
    def body(self, num_bytes: int) -> Iterator[None]:
        """Room for a request's body, from before it is read until it is answered.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        with self._held(Load(num_bytes=num_bytes), is_alone=self._all.num_bytes == 0):
            yield

    @contextmanager
    def place(self, num_inputs: int) -> Iterator[Load]:
        """A place in the queue for the length of the `with`.

        Raises:
            UnavailableError: the queue is full.
        """
        with self._held(Load(num_inputs=num_inputs), is_alone=self._all.num_inputs == 0) as mine:
            yield mine

    def add_tokens(self, mine: Load, num_tokens: int, num_bytes: int = 0) -> None:
        """Weigh a request that is in: its tokens are known now, and the bytes of an answer that is worth counting.

        Raises:
            UnavailableError: the queue is full of tokens.
        """
        more = Load(num_tokens=num_tokens, num_bytes=num_bytes)
        self._check(more, is_alone=self._all.num_tokens == 0)
        mine.num_tokens += num_tokens
        mine.num_bytes += num_bytes
        self._add(more, 1)

    def add_bytes(self, mine: Load, num_bytes: int) -> None:
        """Weigh bytes that a request brings in from elsewhere, as they come.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        self._check(more := Load(num_bytes=num_bytes), is_alone=self._all.num_inputs == mine.num_inputs)
        mine.num_bytes += num_bytes
        self._add(more, 1)

    def observe(self, num_tokens: int, seconds: float) -> None:
        """Learn from a language step how fast the queue empties."""
        self._tokens_per_s += 0.2 * (num_tokens / max(seconds, 1e-6) - self._tokens_per_s)

    @contextmanager
    def _held(self, load: Load, *, is_alone: bool) -> Iterator[Load]:
        self._check(load, is_alone=is_alone)
        self._add(load, 1)
        try:
            yield load
        finally:
            self._add(load, -1)

    def _check(self, load: Load, *, is_alone: bool) -> None:
        now, limits = self._all, self._limits
        is_full = (
            now.num_inputs + load.num_inputs > limits.max_inputs
            or now.num_tokens + load.num_tokens > limits.max_tokens
            or now.num_bytes + load.num_bytes > limits.max_bytes
        )
        if is_full and not is_alone:
            raise UnavailableError(
                "queue_full",
                f"the queue holds {now.num_inputs} inputs, {now.num_tokens} tokens and {now.num_bytes} bytes; its "
                f"limits are {limits.max_inputs}, {limits.max_tokens} and {limits.max_bytes}",
                retry_after_s=min(MAX_RETRY_S, max(1, round(now.num_tokens / self._tokens_per_s))),
            )

    def _add(self, load: Load, sign: int) -> None:
        self._all.num_inputs += sign * load.num_inputs
        self._all.num_tokens += sign * load.num_tokens
        self._all.num_bytes += sign * load.num_bytes
        metrics.QUEUE_INPUTS.set(self._all.num_inputs)
