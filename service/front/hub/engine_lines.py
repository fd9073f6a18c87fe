"""The lines between one model's engine and the fronts: each front is connected with every new engine."""

import os
import socket  # noqa: TID251  # socket pairs
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from service.front.engine_client.front_link import EngineNews
from service.ipc.announcements import open_pipe
from service.ipc.descriptors import open_passing, pass_descriptors


@dataclass(slots=True)
class EngineLink:
    """Connection of one front and one model's engines.

    Attributes:
        is_loaded: the front has read the model's files, and takes an engine.
        is_ready: its health probe of the engine has passed.
        engine: number of the engine that it was connected with; 0 before the first.
    """

    is_loaded: bool = False
    is_ready: bool = False
    engine: int = 0


class HubFront(Protocol):
    """A front, as the hub sees it."""

    index: int
    is_serving: bool
    links: list[EngineLink]

    def tell(self, message: EngineNews) -> None:
        """Tell it of an engine; nothing where it has gone."""
        ...

    def connect(self, model: int, number: int, descriptors: tuple[int, int]) -> bool:
        """Give it its ends of socket and pipe to an engine; False where it has gone or does not take them now."""
        ...

    async def series(self) -> bytes:
        """Its own series, in Prometheus' text format; nothing where it does not answer."""
        ...

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        """Content that a name is bound to there, as `UuidStore.packed` gives it; empty where it is unknown."""
        ...


class EngineLines:
    """Connects the fronts, of which some may be starting, with one engine after the other.

    Attributes:
        number: of the engine that is attached, or was last.
    """

    def __init__(self, model: int, fronts: Sequence[HubFront]) -> None:
        self.number = 0
        self.is_attached = False
        self._model = model
        self._fronts = fronts
        self._passing: socket.socket | None = None

    @property
    def passing(self) -> socket.socket:
        """By which fronts are handed to the engine that is attached."""
        assert self._passing is not None  # an engine that is attached was started with the other end
        return self._passing

    def open(self) -> socket.socket:
        """The end of a new engine, by which fronts come in. OSError: there are no descriptors left."""
        self._close()
        self._passing, theirs = open_passing()
        return theirs

    def attach(self) -> None:
        """A new engine is loaded: connect every front."""
        self.number += 1
        self.is_attached = True
        self.connect_all()

    def connect_all(self) -> None:
        """Connect the fronts that are not; asked for again and again, since one may not take its ends at once."""
        for front in self._fronts:
            link = front.links[self._model]
            if self.is_attached and link.is_loaded and link.engine != self.number:
                self._connect(front)

    def detach(self) -> None:
        """The engine has ended; the fronts see that by themselves."""
        self.is_attached = False
        for front in self._fronts:
            front.links[self._model].is_ready = False
        self._close()

    def _connect(self, front: HubFront) -> None:
        ours, theirs = socket.socketpair()
        reading, writing = open_pipe()
        try:  # the engine first: where the front does not take its ends, the engine sees that they close
            has_come = pass_descriptors(self.passing, b"%d" % front.index, (theirs.fileno(), writing))
            if has_come and front.connect(self._model, self.number, (ours.fileno(), reading)):
                front.links[self._model].engine = self.number
        except OSError:  # the engine has ended; the next one is connected
            pass
        finally:
            ours.close()
            theirs.close()
            os.close(reading)
            os.close(writing)

    def _close(self) -> None:
        if self._passing is not None:
            with suppress(OSError):
                self._passing.close()
            self._passing = None
