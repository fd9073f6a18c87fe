"""Starts the engine process. It inherits its ends of a socket pair and a pipe, the arena, and where fronts come in."""

import os
import socket  # noqa: TID251  # a socket pair
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from service.ipc.announcements import Announcements
from service.ipc.channel import AsyncChannel
from service.ipc.descriptors import GUEST, pass_descriptors
from service.ipc.messages import EngineMessage

NUM_SPINS = "15000"
"""Spins of libgomp's threads before they sleep, in wait for the next piece of a forward: up to a millisecond. Its own
300,000 keep the core from the front and, where cores are shared, from the thread that is waited for; with none a small
forward takes half as long again (docs/decisions/front.md)."""


def engine_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The engine's environment; what an operator says of OpenMP's waiting stands."""
    fixed = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    return {**({} if "OMP_WAIT_POLICY" in environ else {"GOMP_SPINCOUNT": NUM_SPINS}), **environ, **fixed}


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


async def start_engine(name: str, arena_descriptor: int, fronts_descriptor: int) -> EngineProcess:
    """A new engine, with its end of the socket by which fronts come in. OSError: no processes or descriptors left."""
    return await _connected(lambda pipe: _start(name, (pipe, arena_descriptor, fronts_descriptor)))


async def join_engine(
    process: subprocess.Popen[bytes], passing: socket.socket, arena_descriptor: int, fronts_descriptor: int
) -> EngineProcess:
    """The engine of a model within the process of another's, which has the weights and takes descriptors by `passing`.

    Raises:
        OSError: the process has gone, or there are no descriptors left.
    """

    def join(pipe: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs:
            if not pass_descriptors(passing, GUEST, (theirs.fileno(), pipe, arena_descriptor, fronts_descriptor)):
                ours.close()
                raise BlockingIOError("the engine takes no descriptors now")
        return process, ours

    return await _connected(join)


async def _connected(open_lines: Callable[[int], tuple[subprocess.Popen[bytes], socket.socket]]) -> EngineProcess:
    """An engine, given the descriptor of the pipe that it writes to."""
    announcements = Announcements()
    try:
        process, ours = open_lines(announcements.theirs)
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


def _start(name: str, inherited: tuple[int, ...]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        descriptors = (theirs.fileno(), *inherited)
        try:
            process = subprocess.Popen(
                # -P: the folder that the front was started in must not come before the installed packages.
                [sys.executable, "-P", "-m", "service.engine.worker", name.replace("\0", ""), *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is this process's to handle
                env=engine_environ(os.environ),
            )
        except OSError:
            ours.close()
            raise
    return process, ours
