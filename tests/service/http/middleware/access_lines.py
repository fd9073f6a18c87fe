"""Reading access lines: of a server, and of an `AccessLog` in this process."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from service.accounting import DEFERRED
from tests.conftest import LiveServer


def line_of(server: LiveServer, id_: str) -> dict[str, Any]:
    """The log line of a request, as soon as it is there."""
    deadline_s = time.monotonic() + 10
    while time.monotonic() < deadline_s:
        for line in server.log_lines():
            if (found := json.loads(line)).get("request_id") == id_ and "route" in found:
                return dict(found)
        time.sleep(0.02)
    raise AssertionError(f"no line of {id_}")


class Listener(logging.Handler):
    """Keeps what is logged. Not pytest's, which has a level of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record)


@contextmanager
def access_lines(level: int = logging.INFO) -> Iterator[list[Any]]:
    """Records that are logged in the `with`, where the log has a level."""
    logger, listener = logging.getLogger("cenote.access"), Listener()
    level_before = logger.level
    DEFERRED.finish()  # what other tests have left
    logger.addHandler(listener)
    logger.setLevel(level)
    try:
        yield listener.lines
        DEFERRED.finish()
    finally:
        logger.setLevel(level_before)
        logger.removeHandler(listener)
