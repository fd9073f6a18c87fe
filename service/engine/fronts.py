"""Whom the engine answers: its fronts, each by a socket and a pipe of its own, which the keeper of the engine hands in.

The keeper itself gets what is nobody's: signs of life, and a report of each step. A request's id modulo the number of
fronts is its front's index, and a slot lies in its front's part of the arena.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from service.ipc.announcements import Announcement
from service.ipc.channel import frame
from service.ipc.messages import AreKept, Pong, Ready, StepDone, StepKind, StepReport, StepStarted, WantPixels
from service.outputs.block import blocks_of


class FrontLine(Protocol):
    """The engine's ends of what leads to one front. No call waits for a front that has stopped."""

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


class Fronts:
    """Announces each step to the fronts, and sends each answer to the front that asked.

    Args:
        control: sends to the engine's keeper.
        pipe: descriptor of the pipe that the keeper reads when it needs to.
        ready: the engine's own facts, which each front is told.
        part_bytes: the part of the arena that each front has.

    Attributes:
        num_steps: steps begun so far, which is the number of the last one.
        beside: of the models that share weights with this one: a step of one is entered for all, as nobody's request.
    """

    def __init__(
        self, control: Callable[[msgspec.Struct], None], pipe: int, ready: Ready, *, num_fronts: int, part_bytes: int
    ) -> None:
        self.num_steps = 0
        self.beside: list[Fronts] = []
        self._control = control
        self._pipe = pipe
        self._ready = ready
        self._waiting: dict[int, FrontLine] = {}
        self._lines: dict[int, FrontLine] = {}
        self._num_fronts = num_fronts
        self._part_bytes = part_bytes

    def of_request(self, id_: int) -> int:
        """Index of the front that a request came from."""
        return id_ % self._num_fronts

    def of_slot(self, start: int) -> int:
        """Index of the front in whose part of the arena a slot lies."""
        return start // self._part_bytes

    def begin(self, kind: StepKind, num_tokens: int, ids: list[int]) -> None:
        """Number and announce a step that is about to run: to the keeper, and to each front its own requests in it.

        A front has to know of those without its requests that earlier ones are over. OSError: the keeper has gone.
        """
        began_s = time.monotonic()
        for one in (self, *self.beside):
            one.num_steps += 1
            step = StepStarted(number=one.num_steps, kind=kind, num_tokens=num_tokens, ids=[], began_s=began_s)
            one.tell_keeper(step)
            for index, line in one._lines.items():
                mine = [id_ for id_ in ids if id_ % one._num_fronts == index] if one is self else []
                line.announce(msgspec.structs.replace(step, ids=mine))

    def join(self, index: int, line: FrontLine) -> None:
        """Answer a front by this line from now on, and tell it so: only then may it write into its part.

        It waits while the last messages of the front before it are still to come: their slots are in that part.
        """
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

    def answer(self, step: StepDone, report: StepReport) -> None:
        """Send the results of a step to those who wait for them, and its report to the keeper, who counts."""
        self.tell_keeper(report)  # first: who has the answer may ask for the counts
        owners = {id_ % self._num_fronts for block in step.blocks for id_ in block.ids}
        owners |= {one.id % self._num_fronts for one in step.failures}
        owners |= {start // self._part_bytes for start in step.released}
        for index in self._lines.keys() & owners:
            self._lines[index].send(step if len(owners) == 1 else self._part(step, index))

    def tell_keeper(self, message: Announcement) -> None:
        """Enter a message into the keeper's pipe; waits while that is full. OSError: the keeper has gone."""
        left = memoryview(frame(message))
        while left:
            left = left[os.write(self._pipe, left) :]

    def _part(self, step: StepDone, index: int) -> StepDone:
        """A front's results of a step."""
        vectors = (one for block in step.blocks for one in block.vectors())
        return StepDone(
            blocks=blocks_of(one for one in vectors if self.of_request(one.id) == index),
            failures=[one for one in step.failures if self.of_request(one.id) == index],
            released=[start for start in step.released if self.of_slot(start) == index],
            after=step.after,
        )

    def want(self, keys: Mapping[bytes, int]) -> None:
        """Ask for pixels of images, each with the id of a request that waits for it."""
        wanted_of: defaultdict[int, list[bytes]] = defaultdict(list)
        for key, id_ in keys.items():
            wanted_of[self.of_request(id_)].append(key)
        for index, wanted in wanted_of.items():
            if (line := self._lines.get(index)) is not None:
                line.send(WantPixels(keys=wanted, after=self.num_steps))

    def tell_kept(self, id_: int, are_kept: list[bool]) -> None:
        """Answer an `AskKept`."""
        if (line := self._lines.get(self.of_request(id_))) is not None:
            line.send(AreKept(id=id_, are_kept=are_kept, after=self.num_steps))

    def pong(self) -> None:
        """Answer a `Ping`."""
        self._control(Pong(after=self.num_steps))
