"""Log lines on stderr, for people or as one JSON object a line.

Values are truncated and unprintable characters escaped, so that a client's text can neither break nor fake a line.
"""

import logging
import sys
import time
from functools import lru_cache
from types import TracebackType
from typing import Literal, TextIO

import orjson

PLAIN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}
NUMBERS = frozenset({int, float, bool})
MAX_VALUE_CHARS = 256
MAX_MESSAGE_CHARS = 1024
"""Messages are our own text; some explain at length why a start failed."""

logger = logging.getLogger("cenote.process")


LIBRARIES = ("huggingface_hub", "transformers")
"""Loggers that write plain lines by handlers of their own as soon as they are imported."""


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message and the fields of `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """A record as a line of JSON."""
        line: dict[str, object] = {
            "time": f"{_utc(int(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _escape(record.getMessage(), MAX_MESSAGE_CHARS),
        }
        for name, value in vars(record).items():
            if name not in PLAIN_ATTRIBUTES:
                line[name] = value if isinstance(value, bool | int | float | None) else _escape(str(value))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode()


class HumanFormatter(logging.Formatter):
    """`12:00:01 info  message name=value`."""

    _second, _clock = 0, ""

    def format(self, record: logging.LogRecord) -> str:
        """A record as one line, followed by the traceback of an exception."""
        shown = []
        for name, value in vars(record).items():
            if name not in PLAIN_ATTRIBUTES:
                text = str(value)
                is_plain = type(value) in NUMBERS or (len(text) <= MAX_VALUE_CHARS and text.isprintable())
                shown.append(f"{name}={text if is_plain else _escape(text)}")
        if self._second != int(record.created):
            self._second = int(record.created)
            self._clock = time.strftime("%H:%M:%S", time.localtime(self._second))
        message = record.getMessage()
        if len(message) > MAX_MESSAGE_CHARS or not message.isprintable():
            message = _escape(message, MAX_MESSAGE_CHARS)
        line = f"{self._clock} {record.levelname.lower():7s} {message}{'  ' if shown else ''}{' '.join(shown)}"
        return line + ("\n" + self.formatException(record.exc_info) if record.exc_info else "")


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes each line when it is logged, or several at once: a write costs more than to format a line.

    Attributes:
        held: lines that wait for `write_held`; None where each is written when it is logged.
    """

    held: list[str] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or hold it. Raises nothing, as no handler does."""
        if self.held is None:
            super().emit(record)
            return
        try:
            self.held.append(self.format(record) + self.terminator)
        except Exception:  # noqa: BLE001  # as `logging.StreamHandler` has it
            self.handleError(record)

    def write_held(self) -> None:
        """Write the lines that all threads have logged since `held` was set, in one piece, and hold no more."""
        self.acquire()
        try:
            lines, self.held = self.held, None
            if lines:
                self.stream.write("".join(lines))
                self.flush()
        except Exception:  # noqa: BLE001  # a closed terminal, a full disk: no request is to fail by it
            self.handleError(logging.makeLogRecord({"msg": "lines that were held"}))
        finally:
            self.release()


class ModelFilter(logging.Filter):
    """Adds the field `model` to each line of one model's engine, where several are served."""

    def __init__(self, model: str) -> None:
        super().__init__()
        self._model = model

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every line."""
        record.model = self._model
        return True


def configure(form: Literal["human", "json"], level: str, model: str | None = None) -> None:
    """Send log lines, those of libraries, Python's warnings and uncaught exceptions to stderr in one format.

    Args:
        model: that each line is about, or None.
    """
    handler = LineHandler(sys.stderr)
    if model is not None:
        handler.addFilter(ModelFilter(model))
    handler.setFormatter(JsonFormatter() if form == "json" else HumanFormatter())
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line shows them
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("cenote").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # its warnings are about clients, which metrics count
    for name in LIBRARIES:
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Log an uncaught exception; Python would print a bare traceback."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    logger.critical("the process ends by an exception that nobody handled", exc_info=(kind, error, trace))


@lru_cache(2)
def _utc(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def _escape(text: str, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Text truncated, with unprintable characters escaped."""
    text = text[:max_chars]
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
