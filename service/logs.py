"""Log lines on stderr: for people, or one JSON object a line.

Nothing that a client sent can break a line or hide in one: values are cut, and what is not printable is escaped.
"""

import logging
import sys
import time
from types import TracebackType
from typing import Literal

import orjson

PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}
MAX_VALUE_CHARS = 256
MAX_MESSAGE_CHARS = 1024
"""Messages are ours, and some explain at length why a start failed."""

logger = logging.getLogger("cenote.process")


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, and what was given as `extra`; long values are cut."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line of JSON."""
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _harmless(record.getMessage(), MAX_MESSAGE_CHARS),
        }
        for name, value in vars(record).items():
            if name not in PLAIN_ATTRIBUTES:
                line[name] = value if isinstance(value, bool | int | float | None) else _harmless(str(value))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode()


class HumanFormatter(logging.Formatter):
    """`12:00:01 info  message name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line for people; only an exception has more lines than one."""
        extras = " ".join(
            f"{name}={_harmless(str(value))}" for name, value in vars(record).items() if name not in PLAIN_ATTRIBUTES
        )
        line = f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {record.levelname.lower():7s} "
        line += _harmless(record.getMessage(), MAX_MESSAGE_CHARS) + (f"  {extras}" if extras else "")
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


def configure(form: Literal["human", "json"], level: str) -> None:
    """Send the service's and uvicorn's lines to stderr in one form; Python's warnings and last words too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else HumanFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("cenote").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are about clients, which we count
    logging.captureWarnings(True)
    sys.excepthook = _log_last_words


def _log_last_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What would have been a bare traceback on stderr."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    logger.critical("the process ends by an exception that nobody handled", exc_info=(kind, error, trace))


def _harmless(text: str, max_chars: int = MAX_VALUE_CHARS) -> str:
    """A value as it may stand in a line: cut, and without control characters or anything else that is not printed."""
    text = text[:max_chars]
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
