"""Lines are found and read a slice a turn of the loop, whatever they are, and streams share the turns."""

import asyncio
from collections.abc import Iterator

import pytest

from schemas.endpoints.embeddings import EmbeddingRequest
from service.fairness.threads import FairThreads, LoopTimeSlices
from service.http.request import MAX_BYTES_ON_LOOP
from service.http.stream.items import SLICE_LINES, ItemReader
from service.http.stream.lines import InputLine, LineSplitter

NUM_LINES = 2_000
LONG = b'{"input":"%b"}\n' % (b"x" * MAX_BYTES_ON_LOOP)


def reader_of(turns: LoopTimeSlices) -> ItemReader:
    bodies = FairThreads(1, "body", small=1)
    return ItemReader(EmbeddingRequest(), 1 << 20, ignore_unknown=False, turns=turns, bodies=bodies)


@pytest.mark.parametrize("line", [b"\n", b"  \n", b"{}\n", b'{"input":""}\n', b"x\n"])
def test_streams_share_the_lines_of_a_turn(line: bytes) -> None:
    """Of four streams with 2,000 lines in one piece each, no turn has more than a slice, and all are read."""

    async def story() -> tuple[list[int], list[int]]:
        turns, looked_at = LoopTimeSlices(), [0]

        def counted(lines: Iterator[InputLine | None]) -> Iterator[InputLine | None]:
            for one in lines:
                looked_at[-1] += 1
                yield one

        async def stream() -> int:
            reader = reader_of(turns)
            splitter = LineSplitter(1 << 20)
            groups = reader.groups(counted(splitter.feed(line * NUM_LINES)))
            num_items = sum([len(group) async for group in groups])
            assert splitter.num_lines == NUM_LINES
            return num_items

        streams = [asyncio.create_task(stream()) for _ in range(4)]
        while not all(one.done() for one in streams):
            looked_at.append(0)
            await asyncio.sleep(0)
        return looked_at, [one.result() for one in streams]

    looked_at, num_items = asyncio.run(story())
    assert sum(looked_at) == 4 * NUM_LINES
    assert max(looked_at) <= SLICE_LINES
    assert num_items == [0 if line.isspace() else NUM_LINES] * 4


def test_a_long_line_is_read_in_its_place() -> None:
    async def story() -> list[list[int]]:
        reader = reader_of(LoopTimeSlices())
        body = b'{"input":"a"}\n' + LONG + b'{"input":"b"}\n' * 2
        return [[item.index for item in group] async for group in reader.groups(LineSplitter(1 << 20).feed(body))]

    assert asyncio.run(story()) == [[0], [1], [2, 3]]
