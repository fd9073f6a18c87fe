"""Decoder processes that misbehave on one input: programs in the place of the real workers."""

import sys
import textwrap
from pathlib import Path

PROGRAM = """
import ctypes, os, socket, sys, time
from pathlib import Path
from service.workers import {worker}

decode = None

def misbehave(task):
{what}

original = {where}.decode

def replaced(*given):
    global decode
    place = next(place for place, one in enumerate(given) if hasattr(one, "encoded"))
    task, decode = given[place], lambda task: original(*given[:place], task, *given[place + 1 :])
    return misbehave(task) if {when} else decode(task)

{where}.decode = replaced
{worker}.main()
"""


def image_worker(folder: Path, what: str) -> list[str]:
    """The command of a worker that does `what` instead of decoding an image of 64 by 64 pixels."""
    return _worker(folder, "image_worker", "image_worker", what, "task.width == 64")


def av_worker(folder: Path, kind: str, what: str) -> list[str]:
    """The same for files of `kind`, "audio" or "video", that end in `BAD`."""
    return [*_worker(folder, "av_worker", "av_worker.Files", what, 'task.encoded.endswith(b"BAD")'), kind]


def _worker(folder: Path, worker: str, where: str, what: str, when: str) -> list[str]:
    program = folder / "worker.py"
    program.write_text(PROGRAM.format(worker=worker, where=where, what=textwrap.indent(what, "    "), when=when))
    return [sys.executable, str(program)]
