"""A body split into lines: bytes in as they come, whole lines out. Knows neither JSON nor HTTP.

Held is the beginning of one line, up to the longest that is allowed; the rest of a longer one is skipped.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputLine:
    """A line that is not blank.

    Attributes:
        index: which line of the body, counted from 0; blank ones count.
        raw: without its newline; empty when it is too long.
    """

    index: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class LineBegun:
    """The line that comes next, or has begun to.

    Attributes:
        index: which line of the body.
        num_bytes: of it so far.
        is_inside: it has begun.
    """

    index: int
    num_bytes: int
    is_inside: bool


class LineSplitter:
    """The state between two chunks of a body.

    Args:
        max_bytes: longest line.

    Attributes:
        num_lines: lines that have begun and ended, and a too long one as soon as it is known to be.
        num_held: bytes of the line that has begun and not ended.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun: list[bytes] = []
        self._is_skipping = False
        self._num_skipped = 0
        self.num_lines = 0
        self.num_held = 0

    @property
    def begun(self) -> LineBegun:
        """The line that comes next, or has begun to."""
        num_bytes = self.num_held + self._num_skipped
        return LineBegun(self.num_lines, num_bytes, self._is_skipping or bool(self._begun))

    def feed(self, chunk: bytes) -> Iterator[InputLine | None]:
        """The lines that end in the next chunk of the body, and the one that becomes too long in it.

        They are found as they are asked for. None stands for a line that is blank or skipped, so that a chunk of
        nothing else can be read a few lines at a time too.
        """
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield from self._end(chunk[start:end])
            start = end + 1
        yield from self._add(chunk[start:])

    def finish(self) -> Iterator[InputLine | None]:
        """The last line, where the body ends without a newline."""
        if self.begun.is_inside:
            yield from self._end(b"")

    def drop(self) -> None:
        """Skip the rest of the line that has begun, which counts as read: it was answered."""
        self._begun, self.num_held = [], 0
        if not self._is_skipping:
            self._is_skipping = True
            self.num_lines += 1

    def _add(self, part: bytes) -> Iterator[InputLine]:
        if not part:
            return
        if self._is_skipping:
            self._num_skipped += len(part)
            return
        self._begun.append(part)
        self.num_held += len(part)
        if self.num_held > self._max_bytes:
            yield InputLine(self.num_lines, b"")
            self.drop()

    def _end(self, part: bytes) -> Iterator[InputLine | None]:
        yield from self._add(part)
        if self._is_skipping:
            self._is_skipping, self._num_skipped = False, 0
            yield None
            return
        raw = b"".join(self._begun)
        self._begun, self.num_held = [], 0
        index, self.num_lines = self.num_lines, self.num_lines + 1
        yield InputLine(index, raw) if raw and not raw.isspace() else None
