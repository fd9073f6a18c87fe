"""A sink that is waited for while its store is down: it is opened anew, and the call is repeated.

A store in a folder is down while the folder is away: moved, or not mounted. Its library would make a new one there.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from service.ingest.errors import IngestError, StoreDownError
from service.ingest.item import Point, Relabelled
from service.ingest.pause import backoff_s
from service.ingest.progress import say
from service.ingest.sinks.sink import Sink, Written
from service.ingest.sinks.target import Target
from service.ingest.vectors import NO_LAYOUT, Layout

T = TypeVar("T")
AWAY = "it cannot be read any more, or another is in its place"


class PatientSink:
    """The calls of a sink. A write is repeated as a whole, which replaces what had been written of it."""

    def __init__(self, sink: Sink, target: Target, give_up_s: float) -> None:
        """Give up after `give_up_s` seconds without a success."""
        self.sink = sink
        self._target = target
        self._inode = 0
        self._give_up_s = give_up_s
        self._hurries = threading.Event()
        self._layout = NO_LAYOUT
        self._written: Callable[[], Written] = Written

    def hurry(self) -> None:
        """Wait no more: the run ends. For any thread."""
        self._hurries.set()

    def open(self, layout: Layout, written: Callable[[], Written]) -> None:
        """Open it after what the ledger has then."""
        self._layout, self._written = layout, written
        self._call(lambda: self.sink.open(layout, written()), is_open=True)
        self._inode = self._found()

    def write(self, points: Sequence[Point]) -> int:
        """Write points; the new position."""
        return self._call(lambda: self.sink.write(points))

    def relabel(self, points: Sequence[Relabelled]) -> None:
        """Replace the metadata of points."""
        self._call(lambda: self.sink.relabel(points))

    def delete(self, points: Sequence[UUID]) -> None:
        """Take points out."""
        self._call(lambda: self.sink.delete(points))

    def _call(self, call: Callable[[], T], *, is_open: bool = False) -> T:
        """Call until the store answers.

        Raises:
            IngestError: what a call raises that will not pass, or it has not passed in time.
        """
        attempt, since_s = 0, time.monotonic()
        while True:
            try:
                if self._inode and self._found() != self._inode:
                    raise StoreDownError(f"--to {self._target.described}: {AWAY}")
                if attempt and not is_open:
                    self.sink.open(self._layout, self._written())
                return call()
            except StoreDownError as error:
                if time.monotonic() - since_s >= self._give_up_s:
                    raise IngestError(
                        f"{error}; the store has taken nothing for {self._give_up_s:g} s (--give-up-s)"
                    ) from error
                if not attempt:
                    say(f"{error}; waiting for the store, at most {self._give_up_s:g} s (--give-up-s)")
                if self._hurries.wait(min(backoff_s(attempt), self._give_up_s)):
                    raise
                attempt += 1

    def _found(self) -> int:
        """Inode of the folder or file of a store; 0 without one, or while it is away or cannot be read."""
        place = Path(self._target.place)
        is_here = self._target.name and not self._target.is_url and os.access(place, os.R_OK)
        return place.stat().st_ino if is_here else 0
