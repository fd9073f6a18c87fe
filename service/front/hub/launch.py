"""Starts an engine process, which imports what it needs and then waits for its lines.

Imports next to nothing, so that the first engine is started before the front imports what it needs itself.
"""

import os
import socket  # noqa: TID251  # a socket pair
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

NUM_SPINS = "15000"
"""Spins of libgomp's threads before they sleep, in wait for the next piece of a forward: up to a millisecond. Its own
300,000 keep the core from the front and, where cores are shared, from the thread that is waited for; with none a small
forward takes half as long again (docs/decisions/front.md)."""


@dataclass(frozen=True, slots=True)
class Launched:
    """A new process, and the socket by which it takes its lines; it ends when that closes."""

    process: subprocess.Popen[bytes]
    passing: socket.socket

    def end(self) -> None:
        """End the process, which nobody needs."""
        self.passing.close()
        self.process.kill()
        self.process.wait()


def launch(name: str) -> Launched:
    """Start a process for the engine of a model.

    Raises:
        OSError: there are no processes or descriptors left.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        try:
            process = subprocess.Popen(
                # -P: the folder that the front was started in must not come before the installed packages.
                [sys.executable, "-P", "-m", "service.engine.worker", name.replace("\0", ""), str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C is this process's to handle
                env=engine_environ(os.environ),
            )
        except OSError:
            ours.close()
            raise
    return Launched(process, ours)


def engine_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The engine's environment; what an operator says of OpenMP's waiting stands."""
    fixed = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    return {**({} if "OMP_WAIT_POLICY" in environ else {"GOMP_SPINCOUNT": NUM_SPINS}), **environ, **fixed}
