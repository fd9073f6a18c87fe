"""Gives an engine its lines: its ends of a socket pair and a pipe, the arena, and where fronts come in."""

import socket  # noqa: TID251  # a socket pair
import subprocess
from dataclasses import dataclass

from service.front.hub.launch import Launched
from service.ipc.announcements import Announcements
from service.ipc.channel import AsyncChannel
from service.ipc.descriptors import GUEST, pass_descriptors
from service.ipc.messages import EngineMessage


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """A new engine, which waits for `Start`, and our ends of its lines: of messages, and of what it is about to run."""

    process: subprocess.Popen[bytes]
    channel: AsyncChannel[EngineMessage]
    announcements: Announcements

    def close(self) -> None:
        """Close our ends; the engine ends of it."""
        self.channel.close()
        self.announcements.close()


async def start_engine(launched: Launched, arena_descriptor: int, fronts_descriptor: int) -> EngineProcess:
    """The first engine of a process that has just been launched. OSError: it has ended; or see `join_engine`."""
    with launched.passing:
        return await join_engine(launched.process, launched.passing, arena_descriptor, fronts_descriptor)


async def join_engine(
    process: subprocess.Popen[bytes], passing: socket.socket, arena_descriptor: int, fronts_descriptor: int
) -> EngineProcess:
    """An engine within a process that takes descriptors by `passing`: its own, or one more that shares the weights.

    Raises:
        OSError: the process has gone, or there are no descriptors left.
    """
    announcements = Announcements()
    try:
        ours, theirs = socket.socketpair()
        with theirs:
            descriptors = (theirs.fileno(), announcements.theirs, arena_descriptor, fronts_descriptor)
            if not pass_descriptors(passing, GUEST, descriptors):
                ours.close()
                raise BlockingIOError("the engine takes no descriptors now")
    except OSError:
        announcements.close()
        raise
    finally:
        announcements.inherited()
    try:
        channel: AsyncChannel[EngineMessage] = await AsyncChannel.over(ours, EngineMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
    except BaseException:  # cancelled, for one
        announcements.close()
        raise
    return EngineProcess(process, channel, announcements)
