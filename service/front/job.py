"""A route's request as plain data (`Job`), and the result (`EmbedResult`): what routes and `Embedder` exchange."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from schemas.content.audio import AudioUrlPart, InputAudioPart
from schemas.content.file import FilePart
from schemas.content.messages import Message
from schemas.content.parts import Content, ImageEmbedsPart, ImageUrlPart
from schemas.content.video import VideoFramesPart, VideoUrlPart
from service.errors import ServiceError
from service.front.admission.budget import Lease
from service.front.tenant import Tenant
from service.front.usage import InputCounts
from service.outputs.ask import Asks
from service.outputs.block import Vector
from service.outputs.chunks import rows_of_chunks
from service.prompt.conversation import Conversation
from service.prompt.prompt import Prompt
from service.prompt.token_array import TokenArray
from service.prompt.truncation import Truncation

ImagePart = ImageUrlPart | ImageEmbedsPart
VideoPart = VideoFramesPart | VideoUrlPart
AudioPart = InputAudioPart | AudioUrlPart
MediaPart = ImagePart | VideoPart | AudioPart | FilePart


@dataclass(frozen=True, slots=True)
class PlacedMedia:
    """Where a part that is not text stands in the request.

    Attributes:
        param: path of its part.
        content_param: path of its content; the same where the request has only a URL, `images` of Cohere's routes.
        index: its input, counted from 0.
    """

    param: str
    content_param: str
    index: int
    part: MediaPart

    @property
    def url(self) -> str:
        """URL or inline data of a part that has one source, and is no image."""
        if isinstance(self.part, FilePart):
            return self.part.file.file_data
        assert isinstance(self.part, VideoUrlPart | AudioUrlPart)  # the others have several, or none
        source = self.part.video_url if isinstance(self.part, VideoUrlPart) else self.part.audio_url
        return source if isinstance(source, str) else source.url


Source = str | TokenArray | Content | PlacedMedia | list[Message] | ServiceError
"""The source of one vector, as the request gives it; a `PlacedMedia` is one image, an error why there is none."""


class PromptOptions(NamedTuple):
    """Options for rendering a request's prompts.

    Attributes:
        is_named: the instruction is what `input_type` names: a system message goes before it.
        max_text_tokens: most tokens of a turn's text, by itself; 0 where only the prompt's length counts.
        as_written: the parts of a turn stay in the client's order; else they are put in the reference's.
    """

    like: Conversation = Conversation(None)
    is_named: bool = False
    max_text_tokens: int = 0
    as_written: bool = False


NO_OPTIONS = PromptOptions()


class JobInput(msgspec.Struct, frozen=True, gc=False):
    """One input of a request, which becomes one prompt.

    Attributes:
        param: its path in the request.
        source: what it is made of.
        media: its parts that are not text, as they are written.
    """

    param: str
    source: Source
    media: tuple[PlacedMedia, ...] = ()
    options: PromptOptions = NO_OPTIONS


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one request. `InputReader.prompts` makes its prompts, `Embedder.embed` has them embedded.

    Attributes:
        inputs: each becomes one prompt.
        tenant: whose images and names for images they are.
        background: the request's color under transparent pixels, as `#rrggbb`; empty for the server's.
        per_item: an input that fails leaves the others alone; otherwise its error is raised.
        queries: where prompts are pairs, the first side of each, or the one of all; the inputs are the other side.
        answer_bytes: bytes of the answer, where they follow from the number of inputs; else 0, as for a stream, whose
            window counts them.
    """

    inputs: Sequence[JobInput]
    truncation: Truncation
    asks: Asks
    tenant: Tenant
    background: str = ""
    per_item: bool = False
    queries: Sequence[JobInput] = ()
    answer_bytes: int = 0

    @property
    def param(self) -> str:
        """The path of all inputs."""
        return self.inputs[0].param.partition("[")[0]

    def name_input(self, error: ServiceError) -> None:
        """Give an error that knows its input the input's path too: the engine has none of the request's words.

        Where prompts hold several inputs it knows a prompt, and is about the text.
        """
        if error.param is None and error.index is not None:
            if self.asks[0].joins_inputs:
                error.param, error.index = self.param, None
            else:
                error.param = self.inputs[error.index].param


class EmbeddedInput(msgspec.Struct, frozen=True, gc=False):
    """An input that has its vector."""

    prompt: Prompt
    vector: Vector


InputResult = EmbeddedInput | ServiceError
"""Result of one input. Errors stand here only for a `per_item` job; otherwise the first was raised."""


@dataclass(slots=True)
class EmbedResult:
    """Results of a request's inputs.

    Attributes:
        media_ms: preparing prompts and pixels, wall clock; of a job in parts that of the slowest.
        num_inputs: how many those are.
        embedded: the inputs that have vectors, in order: all of them unless the job was `per_item`. All below is of
            these.
        queue_ms: the longest wait of an input between engine and batch.
        inference_ms: the longest language step of an input.
        num_batched: inputs, of all requests, of the largest language step that one ran in; 0 where none had to.
        lease: of the bytes of the answer, until it is taken; `Embedder.embed` sets it.
    """

    inputs: Sequence[InputResult]
    media_ms: float
    lease: Lease = field(init=False)
    num_inputs: int = field(default=0, init=False)
    errors: list[ServiceError] = field(default_factory=list, init=False)
    embedded: list[EmbeddedInput] = field(default_factory=list, init=False)
    counts: InputCounts = field(default_factory=InputCounts, init=False)
    queue_ms: float = field(default=0.0, init=False)
    inference_ms: float = field(default=0.0, init=False)
    num_batched: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Sum up once for headers, body and metrics."""
        self.num_inputs = len(self.inputs)
        self.embedded = [one for one in self.inputs if isinstance(one, EmbeddedInput)]
        if len(self.embedded) < self.num_inputs:
            self.errors = [one for one in self.inputs if isinstance(one, ServiceError)]
        for one in self.embedded:
            self.counts.add(one.prompt, one.vector)
        vectors = [one.vector for one in self.embedded]
        self.queue_ms = max([vector.queue_ms for vector in vectors], default=0.0)
        self.inference_ms = max([vector.inference_ms for vector in vectors], default=0.0)
        self.num_batched = max([vector.num_batched for vector in vectors], default=0)

    @classmethod
    def joined(cls, parts: Sequence["EmbedResult"]) -> "EmbedResult":
        """The result of a request that ran in parts, in order: what they have summed up is not summed up again."""
        whole = cls([], max(part.media_ms for part in parts))
        whole.inputs = [one for part in parts for one in part.inputs]
        whole.embedded = [one for part in parts for one in part.embedded]
        whole.num_inputs = sum(part.num_inputs for part in parts)
        whole.errors = [error for part in parts for error in part.errors]
        for part in parts:
            whole.counts.include(part.counts)
        whole.queue_ms = max(part.queue_ms for part in parts)
        whole.inference_ms = max(part.inference_ms for part in parts)
        whole.num_batched = max(part.num_batched for part in parts)
        return whole


def by_chunk(result: EmbedResult) -> EmbedResult:
    """The result of windows with one for each of their chunks; what the windows cost is counted once.

    Args:
        result: none of the windows failed.
    """
    chunks: list[InputResult] = []
    for window in result.embedded:  # all: the job is not `per_item`
        own = rows_of_chunks(window.vector.rows, len(window.prompt.chunks))
        for chunk, rows in zip(window.prompt.chunks, own, strict=True):
            chunks.append(EmbeddedInput(chunk, msgspec.structs.replace(window.vector, rows=rows)))
    whole = EmbedResult(chunks, result.media_ms)
    whole.counts = result.counts
    return whole


def raise_first(ends: Iterable[Prompt | InputResult]) -> None:
    """Raise the first error among what inputs have come to.

    Raises:
        ServiceError: there is one.
    """
    for end in ends:
        if isinstance(end, ServiceError):
            raise end
