"""Whom the engine answers: one front, or several with a main process. Which request and which slot is whose.

With one front, everything goes over the one socket. With several, each has a socket and a pipe of its own, which the
main process hands in; that gets what is nobody's: signs of life, and a report of each step. A request's id modulo the
number of fronts is its front's index, and a slot lies in its front's part of the arena.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from service.ipc.announcements import Announcer
from service.ipc.messages import AreKept, Pong, Ready, StepDone, StepKind, StepStarted, WantPixels

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class FrontLine(Protocol):
    """The engine's ends of what leads to one of several fronts. No call waits for a front that has stopped."""

    def send(self, message: msgspec.Struct) -> None:
        """Hand a message to the front; nothing where it has gone."""
        ...

    def announce(self, step: StepStarted) -> None:
        """Enter a step into the front's pipe; nothing where it has gone, or has not looked for too long."""
        ...

    def close(self) -> None:
        """Close the engine's ends."""
        ...


@dataclass(frozen=True, slots=True)
class Joined:
    """A front is there, in the place of any that had its index before."""

    index: int
    line: FrontLine


@dataclass(frozen=True, slots=True)
class Left:
    """The front at the other end of a line has gone."""

    index: int
    line: FrontLine


class FrontsAnnouncer(Announcer):
    """Announces each step to the main process, and to each front which of its own requests are in it.

    Args:
        descriptor: the pipe of the main process, or of the only front.
        num_fronts: that there may be.

    Attributes:
        lines: to the fronts by index; empty where there is but one.
    """

    def __init__(self, descriptor: int, num_fronts: int) -> None:
        super().__init__(descriptor)
        self.lines: dict[int, FrontLine] = {}
        self._num_fronts = num_fronts

    def begin(self, kind: StepKind, num_tokens: int, ids: list[int]) -> StepStarted:
        """Announce a step everywhere: a front has to know of those without its requests that earlier ones are over."""
        step = super().begin(kind, num_tokens, ids)
        for index, line in self.lines.items():
            mine = [id_ for id_ in ids if id_ % self._num_fronts == index]
            line.announce(msgspec.structs.replace(step, ids=mine))
        return step


class Fronts:
    """Sends each answer to the front that asked.

    Args:
        control: sends to the only front, or to the main process of several.
        announcer: announces to them.
        ready: the engine's own facts, for each of several fronts.
        num_fronts: that there may be.
        part_bytes: the part of the arena that each front has.
    """

    def __init__(
        self,
        control: Callable[[msgspec.Struct], None],
        announcer: FrontsAnnouncer,
        ready: Ready | None = None,
        *,
        num_fronts: int = 1,
        part_bytes: int = 1,
    ) -> None:
        self._control = control
        self._announcer = announcer
        self._ready = ready
        self._waiting: dict[int, FrontLine] = {}
        self._lines = announcer.lines
        self._num_fronts = num_fronts
        self._part_bytes = part_bytes

    def of_request(self, id_: int) -> int:
        """Index of the front that a request came from."""
        return id_ % self._num_fronts

    def of_slot(self, start: int) -> int:
        """Index of the front in whose part of the arena a slot lies."""
        return start // self._part_bytes

    def join(self, index: int, line: FrontLine) -> None:
        """Answer a front by this line from now on, and tell it so: only then may it write into its part.

        It waits while the last messages of the front before it are still to come: their slots are in that part.
        """
        assert self._ready is not None  # several fronts are told
        if index in self._lines:
            self._waiting[index] = line
            return
        self._lines[index] = line
        line.send(self._ready)

    def leave(self, index: int, line: FrontLine) -> bool:
        """Close a line; whether it was in use."""
        line.close()
        if self._lines.get(index) is not line:
            return False
        del self._lines[index]
        return True

    def next_joins(self, index: int) -> None:
        """Let a front in that has waited until what the one before it had here was forgotten."""
        if (line := self._waiting.pop(index, None)) is not None:
            self.join(index, line)

    def answer(self, step: StepDone) -> None:
        """Send the results of a step to those who wait for them, and its report to who counts."""
        if self._num_fronts == 1:
            self._control(step)
            return
        if step.report is not None:
            self._announcer.write(step.report)  # first: who has the answer may ask for the counts
        vectors = _grouped(step.all_vectors(), lambda one: self.of_request(one.id))
        failures = _grouped(step.failures, lambda one: self.of_request(one.id))
        released = _grouped(step.released, self.of_slot)
        for index in self._lines.keys() & {*vectors, *failures, *released}:
            part = StepDone(
                vectors=vectors.get(index, []),
                failures=failures.get(index, []),
                released=released.get(index, []),
                after=step.after,
            )
            self._lines[index].send(part)

    def want(self, keys: Mapping[bytes, int], after: int) -> None:
        """Ask for pixels.

        Args:
            keys: of images, each with the id of a request that waits for it.
            after: number of the last step.
        """
        if self._num_fronts == 1:
            self._control(WantPixels(keys=list(keys), after=after))
            return
        for index, wanted in _grouped(keys, lambda key: self.of_request(keys[key])).items():
            if (line := self._lines.get(index)) is not None:
                line.send(WantPixels(keys=wanted, after=after))

    def tell_kept(self, answer: AreKept) -> None:
        """Answer an `AskKept`."""
        if self._num_fronts == 1:
            self._control(answer)
        elif (line := self._lines.get(self.of_request(answer.id))) is not None:
            line.send(answer)

    def pong(self, after: int) -> None:
        """Answer a `Ping`."""
        self._control(Pong(after=after))


def _grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups
