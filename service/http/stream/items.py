"""Lines of a stream as requests, in groups that go to the engine together.

Short texts that came together are one job, since they run in one batch; a longer text, or one with media, is a job of
its own, so that nothing quick waits for something slow. A line that is no request is an item with its error.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from msgspec import UNSET, UnsetType

from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.errors import RuleError
from schemas.parsing.stream_request import line_request, read_line
from service.errors import InputError, ServiceError
from service.fairness.threads import FairThreads, LoopTimeSlices
from service.front.admission.load import Load
from service.http.request import MAX_BYTES_ON_LOOP
from service.http.stream.lines import InputLine

GROUP_LINES = 64
"""Lines of one job at most: its fixed cost is little for each of them, and four jobs fill a batch."""

SLICE_LINES = 64
"""Read in one turn of the loop, of all streams together: 20 µs each, and a chunk of a body may have 100,000."""

SHORT_BYTES = 1024
"""Longest line whose text may share a job."""

IMAGE_TOKENS = 256
"""Estimate for a line that is no plain text."""

BYTES_PER_TOKEN = 3
"""Of text, on the low side: the estimate of tokens must not be too low."""


@dataclass(frozen=True, slots=True)
class Item:
    """A line that is to be answered.

    Attributes:
        index: which line of the body.
        id: the client's name for it.
        request: of the line, or its error.
    """

    index: int
    id: str | UnsetType
    num_bytes: int
    request: EmbeddingRequest | RuleError | ServiceError

    @property
    def is_short(self) -> bool:
        """True for a short text or an error, which may share a job."""
        if not isinstance(self.request, EmbeddingRequest):
            return True
        return self.num_bytes <= SHORT_BYTES and self.request.input is not None

    @property
    def num_tokens(self) -> int:
        """An estimate."""
        if not isinstance(self.request, EmbeddingRequest):
            return 0
        is_text = self.request.input is not None
        return self.num_bytes // BYTES_PER_TOKEN if is_text else IMAGE_TOKENS


@dataclass(frozen=True, slots=True)
class ItemReader:
    """Makes items of lines.

    Attributes:
        max_bytes: longest line, for the error that says so.
        turns: for short lines.
        bodies: threads for long lines.
    """

    base: EmbeddingRequest
    max_bytes: int
    ignore_unknown: bool
    turns: LoopTimeSlices
    bodies: FairThreads

    async def groups(self, lines: Iterator[InputLine | None]) -> AsyncIterator[list[Item]]:
        """The items of some lines, in order, as jobs.

        Args:
            lines: found as they are asked for; None stands for a line without work.
        """
        group: list[Item] = []
        async for item in self._items(lines):
            if group and (len(group) == GROUP_LINES or not item.is_short):
                yield group
                group = []
            group.append(item)
            if not item.is_short:
                yield group
                group = []
        if group:
            yield group

    async def _items(self, lines: Iterator[InputLine | None]) -> AsyncIterator[Item]:
        """Each line as an item: a slice of short ones is found and read a turn of the loop, long ones in a thread."""
        is_more = True
        while is_more:
            some, is_more = await self.turns.take(lambda: self._slice(lines))
            for one in some:
                if isinstance(one, InputLine):
                    yield await self.bodies.run(partial(self._item, one), len(one.raw))
                else:
                    yield one

    def _slice(self, lines: Iterator[InputLine | None]) -> tuple[list[Item | InputLine], bool]:
        """The next lines, and whether there may be more; long ones are not read yet."""
        taken = list(islice(lines, SLICE_LINES))
        some = [self._item(line) if len(line.raw) <= MAX_BYTES_ON_LOOP else line for line in taken if line is not None]
        return some, len(taken) == SLICE_LINES

    def _item(self, line: InputLine) -> Item:
        if not line.raw:
            message = f"line {line.index + 1}: expected at most {self.max_bytes} bytes, got more"
            return Item(line.index, UNSET, 0, InputError("body_too_large", message))
        try:
            read = read_line(line.raw, ignore_unknown=self.ignore_unknown)
        except RuleError as error:
            return Item(line.index, UNSET, len(line.raw), _of_line(error, line.index))
        id_ = UNSET if read.id is None else read.id
        try:
            return Item(line.index, id_, len(line.raw), line_request(read, self.base))
        except RuleError as error:
            return Item(line.index, id_, len(line.raw), error)


def _of_line(error: RuleError, index: int) -> RuleError:
    """The error of a whole body, worded for a line."""
    message = error.message
    if message.startswith("the body:"):
        message = f"line {index + 1}:{message.removeprefix('the body:')}"
    return RuleError(error.code, message, param=error.param)


def load_of(group: Sequence[Item], vector_bytes: int) -> Load:
    """The load of a group while it is under way; its answers, of `vector_bytes` each, may wait for their reader."""
    num_bytes = sum(item.num_bytes for item in group)
    return Load(len(group), sum(item.num_tokens for item in group), num_bytes + len(group) * vector_bytes)
