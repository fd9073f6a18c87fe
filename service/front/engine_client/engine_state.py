"""State of an engine, and the answer to requests while there is none."""

from dataclasses import dataclass
from typing import Literal

from schemas.errors import ErrorCode
from service.errors import UnavailableError

EngineState = Literal["loading", "ready", "restarting", "crash_loop", "failed"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to every request while there is no engine to ask."""

    code: ErrorCode
    message: str
    retry_after_s: int

    def error(self) -> UnavailableError:
        """A new exception each time: one that is raised twice grows a traceback."""
        return UnavailableError(self.code, self.message, retry_after_s=self.retry_after_s)


RESTARTING = Refusal("engine_restarting", "the engine is restarting; send the request again", 2)
DRAINING = Refusal("server_draining", "the server is shutting down; send it to another", 1)


class EngineBrokenError(Exception):
    """The engine says that it can never start: a bad checkpoint, a device that is not there."""
