"""Python runs this at start where its folder is on the path: it notes which functions of the product are called.

Between SIGUSR1 and SIGUSR2 each function of the checkout that is called is noted; at SIGUSR2 they are written to
`HOUSE_OUT`: a file named by the process id, with a JSON list of `path: qualified name`. Decoders can open no file, and
inherit no such variable: they are left alone.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import after_import

assert after_import
root = str(Path(__file__).parents[3]) + os.sep
names: dict[Any, str] = {}
is_noting = False


def note(frame: FrameType, event: str, _: object) -> None:
    code = frame.f_code
    if is_noting and event == "call" and code not in names:
        is_ours = code.co_filename.startswith(root) and "site-packages" not in code.co_filename
        names[code] = f"{code.co_filename[len(root) :]}: {code.co_qualname}" if is_ours else ""


def begin(*_: object) -> None:
    global is_noting
    names.clear()
    is_noting = True
    sys.setprofile(note)  # of the main thread, which signals interrupt; it imports without, in half the time


def end(*_: object) -> None:
    global is_noting
    is_noting = False
    sys.setprofile(None)
    called = [name for name in names.values() if name and "<" not in name.rpartition(".")[2]]
    path = Path(os.environ["HOUSE_OUT"]) / str(os.getpid())
    path.with_suffix(".part").write_text(json.dumps(called))
    path.with_suffix(".part").rename(path)


if "HOUSE_OUT" in os.environ:
    threading.setprofile(note)
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, end)
