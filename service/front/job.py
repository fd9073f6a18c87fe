"""What a route wants embedded, and what became of it: data between the routes and `Embedder`."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from service.errors import ServiceError
from service.fairness.threads import Steps
from service.front.answer_room import Hold
from service.front.usage import InputCounts
from service.ipc.messages import OutputSpec, Vector, Wanted
from service.ipc.number_formats import BITS
from service.prompt.prompt import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a route wants embedded.

    Attributes:
        prepare: makes the prompts, one per input and step; runs in threads. For an input that the client got wrong it
            raises, or with `per_item` gives the error in the input's place.
        output: dimensions and number formats, or that features are wanted.
        num_inputs: how many prompts that will be.
        answer_token_bytes: bytes of the answer for each token of the prompts; 0 where they are too few to count.
        fetch: brings in what `prepare` needs from elsewhere, or None; runs on the event loop and asks for room for
            the bytes as they come.
        settle: what is left to do when the inputs have been answered, or None.
        has_media: which threads `prepare` runs in.
        num_chars: of the inputs, media in base64 too: what `prepare` has to go through.
        is_short: `prepare` takes less than handing it to a thread: it runs on the event loop.
        per_item: an input that fails leaves the others alone.
        param_of: the path of an input in the request, or None where there is one input and no path.
        is_of_stream: its answer is held in the stream's window, and counts there.
    """

    prepare: Callable[[], Steps[Sequence[Prompt | ServiceError]]]
    output: Wanted
    num_inputs: int
    answer_token_bytes: int = 0
    fetch: Callable[[Callable[[int], None]], Awaitable[None]] | None = None
    settle: "Callable[[Embedded], None] | None" = None
    has_media: bool = False
    num_chars: int = 0
    is_short: bool = False
    per_item: bool = False
    param_of: Callable[[int], str] | None = None
    is_of_stream: bool = False

    @property
    def answer_bytes(self) -> int:
        """Of its vectors, where they are as many as its inputs; else they are known with the prompts."""
        if self.answer_token_bytes or not isinstance(self.output, OutputSpec):
            return 0
        return self.num_inputs * sum(self.output.dimensions * BITS[kind] // 8 for kind in self.output.kinds)

    def name_input(self, error: ServiceError) -> None:
        """Give an error that knows its input the input's path too: the engine has none of the request's words."""
        if error.param is None and error.index is not None and self.param_of is not None:
            error.param = self.param_of(error.index)


@dataclass(frozen=True, slots=True)
class Answered:
    """An input that has its vector."""

    prompt: Prompt
    vector: Vector


Outcome = Answered | ServiceError
"""What became of one input. Errors stand here only for a `per_item` job; otherwise the first was raised."""


@dataclass(slots=True)
class Embedded:
    """What a request's inputs became.

    Attributes:
        outcomes: one per input, in order.
        media_ms: preparing prompts and pixels, wall clock.
        answered: the inputs that have vectors, in order: all of them unless the job was `per_item`. All below is of
            these.
        counts: what they cost.
        queue_ms: the longest wait of an input between engine and batch.
        inference_ms: the longest language step of an input.
        num_batched: inputs, of all requests, of the largest language step that one ran in; 0 where none had to.
        hold: on the bytes of the answer, until it is taken; None where nothing has to be held.
    """

    outcomes: Sequence[Outcome]
    media_ms: float
    hold: Hold | None = field(default=None, init=False)
    answered: list[Answered] = field(default_factory=list, init=False)
    counts: InputCounts = field(default_factory=InputCounts, init=False)
    queue_ms: float = field(default=0.0, init=False)
    inference_ms: float = field(default=0.0, init=False)
    num_batched: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Sum up once what headers, body and metrics tell."""
        for one in self.outcomes:
            if isinstance(one, Answered):
                self._add(one)

    def _add(self, one: Answered) -> None:
        self.answered.append(one)
        vector = one.vector
        self.counts.add(one.prompt, vector)
        self.queue_ms = max(self.queue_ms, vector.queue_ms)
        self.inference_ms = max(self.inference_ms, vector.inference_ms)
        self.num_batched = max(self.num_batched, vector.num_batched)


def raise_first(ends: Iterable[Prompt | Outcome]) -> None:
    """Raise the first error among what inputs have come to.

    Raises:
        ServiceError: there is one.
    """
    for end in ends:
        if isinstance(end, ServiceError):
            raise end
