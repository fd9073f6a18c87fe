"""Log lines on stderr: for people, or one JSON object a line."""

import logging
import sys
import time
from typing import Literal

import orjson

PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}
MAX_VALUE_CHARS = 256


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, and what was given as `extra`; long values are cut."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line of JSON."""
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:MAX_VALUE_CHARS],
        }
        for name, value in vars(record).items():
            if name not in PLAIN_ATTRIBUTES:
                line[name] = value[:MAX_VALUE_CHARS] if isinstance(value, str) else value
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class HumanFormatter(logging.Formatter):
    """`12:00:01 info  message name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line for people."""
        extras = " ".join(f"{name}={value}" for name, value in vars(record).items() if name not in PLAIN_ATTRIBUTES)
        line = f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {record.levelname.lower():7s} "
        line += record.getMessage() + (f"  {extras}" if extras else "")
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


def configure(form: Literal["human", "json"], level: str) -> None:
    """Send the service's and uvicorn's lines to stderr in one form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else HumanFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("cenote").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
