"""Things that no answer and no log line may hold: addresses of memory, tracebacks, names of our inside."""

import re

LEAK = re.compile(
    rb"0x[0-9a-f]{6,}|Traceback|msgspec|litestar|uvicorn|<class |<function |object at |\.py\b|site-packages"
)
"""In an answer."""

PATH = re.compile(r"/(?:home|root|tmp|usr|var|opt|etc|proc|srv|mnt|Users|work)/")
"""In a log line, of this machine."""


def leak_in(raw: bytes) -> str:
    """The first thing in an answer that should not be there, or nothing."""
    found = LEAK.search(raw)
    return found[0].decode(errors="replace") if found else ""
