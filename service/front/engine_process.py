"""Starts the engine process: a socket pair and the arena's descriptor are all that it inherits."""

import os
import socket  # noqa: TID251  # a socket pair
import subprocess
import sys

from service.ipc.channel import AsyncChannel
from service.ipc.messages import EngineMessage

QUIET = {"OMP_WAIT_POLICY": "PASSIVE"}
"""Threads that wait for the next piece of a forward sleep. By default they spin, on the core that the front needs, and
where cores are shared a forward takes ten times as long, because the spinning threads keep the working one waiting."""


async def start_engine(arena_descriptor: int) -> tuple[subprocess.Popen[bytes], AsyncChannel[EngineMessage]]:
    """A new engine and our end of its socket; it waits for `Start`.

    Raises:
        OSError: there are no processes or descriptors left.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        descriptors = (theirs.fileno(), arena_descriptor)
        try:
            process = subprocess.Popen(
                # -P: the folder that the front was started in must not come before the installed packages.
                [sys.executable, "-P", "-m", "service.engine.worker", *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is the front's to handle
                env={**QUIET, **os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},
            )
        except OSError:
            ours.close()
            raise
    channel: AsyncChannel[EngineMessage] = await AsyncChannel.over(ours, EngineMessage)  # type: ignore[arg-type]  # a union is a type to msgspec
    return process, channel
