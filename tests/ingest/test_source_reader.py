"""Reading ahead: a run that ends while an item arrives ends, as at any other moment."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from service.ingest.source_reader import SourceReader


class Silent:
    """A source that never has an item."""

    def items(self) -> Iterator[Any]:
        import threading

        threading.Event().wait(60)
        yield from ()


def test_an_end_at_the_moment_that_an_item_arrives_is_not_swallowed() -> None:
    """Else the writer has ended, everybody waits for it, and the run hangs indefinitely: a full disk did that."""

    async def run() -> None:
        reading = SourceReader(cast(Any, Silent()))
        taking = asyncio.create_task(reading.take(60))
        await asyncio.sleep(0.01)
        reading._arrived.set()
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking

    asyncio.run(run())
