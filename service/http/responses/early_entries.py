"""Entries of a large answer that are printed when their own vectors are there, while the engine makes the others.

The text is held until all are there: nothing of an answer is sent before nothing in it can fail.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from service.front.admission.answer_room import Hold
from service.front.job import EmbeddedInput, InputResult
from service.front.turns import Turns
from service.http.responses.answer import RAW_MARK, SLICE_BYTES
from service.http.responses.vector_format import DeferredValue, VectorFormat
from service.ipc.vectors import Row

MakeEntry = Callable[[int, InputResult, msgspec.Raw | DeferredValue | None], msgspec.Struct]
"""An entry from an input's index and result, and its vector as JSON; None where it failed."""

COMMA = b","


class Printed(DeferredValue):
    """Entries one behind the other, as they stand within their list. Each text is let go once it is given.

    Args:
        texts: of some of them each, with a comma before: so all but the first are sent as they are.
    """

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = deque(texts)
        self.num_bytes = sum(map(len, texts)) - len(COMMA)

    def chunks(self) -> Iterator[bytes | memoryview]:
        """Their texts, but for the first comma. Only once."""
        yield memoryview(self._texts.popleft())[len(COMMA) :]
        while self._texts:
            yield self._texts.popleft()


class EarlyEntries:
    """Entries of one answer.

    Args:
        turns: in which they are printed.
        vector_format: of the vectors.
        make_entry: makes each of them.

    Attributes:
        num_left: entries of parts that are not printed.
    """

    def __init__(self, turns: Turns, vector_format: VectorFormat, make_entry: MakeEntry) -> None:
        self._turns = turns
        self._format = vector_format
        self._make_entry = make_entry
        self._parts: dict[int, tuple[list[bytes], list[Any]]] = {}  # what is printed, and the rest, by the first input
        self._num_at_once = 1  # until it is known how long they are
        self._has_room = True
        self.num_left = 0

    async def add(self, part: range, results: Sequence[InputResult], hold: Hold | None) -> None:
        """Take the results of a part, and print its entries so long as the room for answers has space to spare.

        Args:
            part: its inputs by index.
            results: of these.
            hold: on the bytes of the answer: the text of an entry takes the place of its vector.
        """
        texts: list[bytes] = []
        rest: list[Any] = []
        self._parts[part.start] = texts, rest
        start = part.start
        while start < part.stop and self._has_room:
            stop = min(part.stop, start + self._num_at_once)
            mine = results[start - part.start : stop - part.start]
            rows = [self._row(one) for one in mine if isinstance(one, EmbeddedInput)]
            text = await self._turns.take(partial(self._text, start, mine, rows))
            self._num_at_once = max(1, SLICE_BYTES * len(mine) // len(text))
            num_bytes = sum(map(len, rows))
            self._has_room = hold is None or hold.grow(len(text) - num_bytes)
            if self._has_room:
                texts.append(text)
                start = stop
        self.num_left += part.stop - start
        rest += map(self._entry, range(start, part.stop), results[start - part.start :])

    def entries(self, results: Sequence[InputResult]) -> list[Any]:
        """All entries of the answer, in order.

        Args:
            results: of all inputs, where no parts were added.
        """
        if not self._parts:
            return list(map(self._entry, range(len(results)), results))
        entries: list[Any] = []
        printed: list[bytes] = []
        for _, (texts, rest) in sorted(self._parts.items()):
            printed += texts
            if rest and printed:
                entries.append(Printed(printed))
                printed = []
            entries += rest
        return [*entries, Printed(printed)] if printed else entries

    def _entry(self, index: int, one: InputResult) -> msgspec.Struct:
        """An entry whose vector is printed when it is sent."""
        return self._make_entry(
            index, one, self._format.json(self._row(one)) if isinstance(one, EmbeddedInput) else None
        )

    def _text(self, start: int, results: Sequence[InputResult], rows: Sequence[Row]) -> bytes:
        """Entries from `start` on, as they stand behind others in their list; `rows` are those of their vectors."""
        entries = [
            self._make_entry(index, one, RAW_MARK if isinstance(one, EmbeddedInput) else None)
            for index, one in enumerate(results, start)
        ]
        text = COMMA + msgspec.json.encode(entries)[len("[") : -len("]")]
        return self._format.filled(text, rows)

    def _row(self, one: EmbeddedInput) -> Row:
        return one.vector.rows[self._format.dtype]
