"""Runs `cenote serve` on a free loopback port for the duration of a run."""

import asyncio
import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from service.ingest.errors import IngestError

LISTENING = "listening on "
LOOK_EVERY_S = 0.1
STOP_S = 30.0
PR_SET_PDEATHSIG = 1
"""`prctl` option: the signal that a process receives when its parent dies.

Source: linux/prctl.h.
"""


@asynccontextmanager
async def own_server(settings: Sequence[str]) -> AsyncIterator[str]:
    """Start a server with flags of `cenote serve` and yield its URL once it is ready; it ends with the run.

    On Linux it ends even when the run is killed.
    """
    with tempfile.TemporaryFile() as log:  # without a name: nothing stays of a run that is killed
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "service", "serve", "--port", "0", "--listen", "when-ready",
            "--lame-duck-s", "0", *settings,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=log,
            process_group=0,  # Ctrl-C is the run's to handle
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )  # fmt: skip
        try:
            yield await _address(process, log.fileno())
        finally:
            await _stop(process)


async def _address(process: asyncio.subprocess.Process, log: int) -> str:
    while process.returncode is None:
        for line in _lines(log):
            _, found, rest = line.partition(LISTENING)
            if found:
                return rest.split()[0]
        await asyncio.sleep(LOOK_EVERY_S)
    said = _lines(log)[-3:]
    raise IngestError(f"`cenote serve` did not start: {' / '.join(said) or f'exit code {process.returncode}'}")


def _lines(log: int) -> list[str]:
    """Its lines so far; the child writes at the offset that it shares with us, which `pread` leaves alone."""
    return os.pread(log, os.fstat(log).st_size, 0).decode(errors="replace").strip().splitlines()


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
"""Loaded before the fork: between fork and exec little is safe."""


def _die_with_parent() -> None:
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
