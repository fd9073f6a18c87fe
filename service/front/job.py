"""What a route wants embedded, and what became of it: data between the routes and `Embedder`."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from service.errors import ServiceError
from service.ipc.messages import Vector, Wanted
from service.prompt.prompt import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a route wants embedded.

    Attributes:
        prepare: makes the prompts, one per input; runs in a thread. For an input that the client got wrong it raises,
            or with `per_item` gives the error in the input's place.
        output: dimensions and number formats, or that features are wanted.
        num_inputs: how many prompts that will be.
        answer_token_bytes: bytes of the answer for each token of the prompts; 0 where they are too few to count.
        fetch: brings in what `prepare` needs from elsewhere, or None; runs on the event loop and asks for room for
            the bytes as they come.
        settle: what is left to do when the inputs have been answered, or None.
        has_media: which threads `prepare` runs in.
        is_short: `prepare` takes less than handing it to a thread: it runs on the event loop.
        per_item: an input that fails leaves the others alone.
    """

    prepare: Callable[[], Sequence[Prompt | ServiceError]]
    output: Wanted
    num_inputs: int
    answer_token_bytes: int = 0
    fetch: Callable[[Callable[[int], None]], Awaitable[None]] | None = None
    settle: "Callable[[Embedded], None] | None" = None
    has_media: bool = False
    is_short: bool = False
    per_item: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """An input that has its vector."""

    prompt: Prompt
    vector: Vector


Outcome = Answered | ServiceError
"""What became of one input. Errors stand here only for a `per_item` job; otherwise the first was raised."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a request's inputs became.

    Attributes:
        outcomes: one per input, in order.
        media_ms: preparing prompts and pixels, wall clock.
    """

    outcomes: Sequence[Outcome]
    media_ms: float

    @property
    def answered(self) -> list[Answered]:
        """The inputs that have vectors, in order: all of them unless the job was `per_item`."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Answered)]

    @property
    def num_hits(self) -> int:
        """Pictures whose features were there already."""
        return sum(one.vector.num_hits for one in self.answered)

    @property
    def num_misses(self) -> int:
        """Pictures that the vision tower had to encode for this request."""
        return sum(one.vector.num_misses for one in self.answered)

    @property
    def num_precomputed(self) -> int:
        """Pictures that came as features."""
        return sum(place.item.dtype is not None for one in self.answered for place in one.prompt.placeholders)

    @property
    def num_tokens(self) -> int:
        """Tokens of all answered prompts: text, template and pictures."""
        return sum(len(one.prompt.token_ids) for one in self.answered)

    @property
    def num_image_tokens(self) -> int:
        """Those of `num_tokens` that stand for pictures."""
        return sum(one.prompt.num_image_tokens for one in self.answered)

    @property
    def queue_ms(self) -> float:
        """The longest wait of an input between engine and batch."""
        return max((one.vector.queue_ms for one in self.answered), default=0.0)

    @property
    def inference_ms(self) -> float:
        """The longest language step of an input."""
        return max((one.vector.inference_ms for one in self.answered), default=0.0)


def raise_first(ends: Iterable[Prompt | Outcome]) -> None:
    """Raise the first error among what inputs have come to.

    Raises:
        ServiceError: there is one.
    """
    for end in ends:
        if isinstance(end, ServiceError):
            raise end
