"""Files of one request that are opened before its prompts are made: what videos and sounds have in common.

Runs on the event loop. Knows neither containers nor codecs.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Generic, TypeVar

from service.errors import MediaError
from service.front.place import Place
from service.media.blame import Blame

T = TypeVar("T")

MAX_KNOWN = 1024
"""Files whose containers need not be read again."""


class KnownFiles(Generic[T]):
    """What containers say, by tenant's salt and file; those least recently asked for go first."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[bytes, bytes], T] = OrderedDict()

    async def find(self, key: tuple[bytes, bytes], read: Callable[[], Awaitable[T]]) -> T:
        """What is known of a file, or what `read` gives."""
        info = self._known.get(key) or await read()
        self._known[key] = info
        self._known.move_to_end(key)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return info


async def open_all(
    places: Sequence[Place],
    open_one: Callable[[Place], Awaitable[T]],
    opened: MutableMapping[str, T | MediaError],
    *,
    per_item: bool,
) -> None:
    """Open files side by side.

    Args:
        places: of the files.
        open_one: opens one.
        opened: gets what was opened, by the path of its part.
        per_item: a file that fails leaves the others alone, and its error is left in `opened`.

    Raises:
        MediaError: of the first file that fails, unless `per_item`.
    """
    opening = [asyncio.ensure_future(open_one(place)) for place in places]
    try:
        for place, task in zip(places, opening, strict=True):
            try:
                opened[place.param] = await task
            except MediaError as error:
                if not per_item:
                    raise
                opened[place.param] = error
    finally:
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)


def check_file_bytes(encoded: bytes, max_bytes: int, place: Place, what: str) -> None:
    """Refuse a file that is too large: one that came by URL had another limit.

    Raises:
        MediaError: `media_too_large`.
    """
    if len(encoded) > max_bytes:
        message = f"The {what} file has {len(encoded)} bytes; at most {max_bytes} are accepted."
        Blame(place.content_param, place.index).refuse("media_too_large", message)
