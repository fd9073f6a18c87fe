"""Messages between a front and the keepers of its engines, and the link between them.

With one front both are in one process (`service/front/hub/hosted_front.py`). Of several each has a socket to the main
process (`service/processes/main_link.py`).
"""

import socket  # noqa: TID251  # of an engine
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec

from schemas.errors import ErrorCode
from service.errors import UnavailableError
from service.front.admission.shared_table import SharedTable
from service.front.inputs.uuids import UuidStore
from service.ipc.messages import Start

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


Outcome = Literal["right", "wrong", "late"]
"""Of a front's health probe."""


class ModelMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A message about one model's engine."""

    model: int
    """Its place among those served."""


# To a front.


class EngineStatus(ModelMessage, frozen=True, kw_only=True):
    """Health of the engine, for `/readyz` and for requests while there is none."""

    state: EngineState
    detail: str
    refusal: Refusal


class GiveUp(ModelMessage, frozen=True, kw_only=True):
    """No engine will come soon: fail what waits."""


class EngineBroken(ModelMessage, frozen=True, kw_only=True):
    """There can never be an engine."""

    reason: str


class SuspectNews(ModelMessage, frozen=True, kw_only=True):
    """Requests of other fronts in an engine that ended, by `prompt_digest`."""

    digests: list[bytes]


# From a front.


class Loaded(ModelMessage, frozen=True, kw_only=True):
    """A model's files have been read; the first front's message is what its engine is started with."""

    start: Start
    host: int
    """Place of the model in whose engine it runs: its own, or that of one whose weights it shares."""


class ProbeResult(ModelMessage, frozen=True, kw_only=True):
    """Verdict of a front's health probe on an engine."""

    engine: int
    outcome: Outcome
    reason: str = ""


class SuspectReport(ModelMessage, frozen=True, kw_only=True):
    """Requests of a front in an engine that ended, by `prompt_digest`."""

    digests: list[bytes]


EngineNews = EngineStatus | GiveUp | EngineBroken | SuspectNews
EngineReport = Loaded | ProbeResult | SuspectReport


class FollowsEngine(Protocol):
    """Hears of one model's engine, as `EngineFollower` does."""

    def on_news(self, message: EngineNews) -> None:
        """Hear of it."""
        ...

    def on_engine(self, number: int, sock: socket.socket, pipe: int) -> None:
        """Take the front's ends of the lines to a new engine."""
        ...


class FrontLink(Protocol):
    """A front's link to all that it shares with the other fronts of its service.

    Attributes:
        first_id: of its requests; each next one is `num_fronts` more. No front before it had any of them.
        owner_pid: process id of the process that ends last.
        table: the counts of all fronts.
    """

    index: int
    num_fronts: int
    first_id: int
    owner_pid: int
    table: SharedTable

    def arena(self, model: int) -> int:
        """Descriptor of the shared memory for a model's pixels, with a part for each front."""
        ...

    def follow(self, model: int, follower: FollowsEngine) -> None:
        """Tell `follower` of a model's engine, and what was said of it before."""
        ...

    def report(self, message: EngineReport) -> None:
        """Tell the keeper of a model's engine something."""
        ...

    def share_uuids(self, store: UuidStore) -> None:
        """Let the other fronts ask for names that are bound in `store`."""
        ...

    async def find_uuid(self, tenant: bytes, uuid: str) -> bytes:
        """Content that another front has bound a name to, as `UuidStore.packed` gives it; empty where none has."""
        ...

    async def scrape(self) -> bytes:
        """The series of all processes of the service, in Prometheus' text format."""
        ...

    async def close(self) -> None:
        """The front has ended: let go of what was kept for it."""
        ...
