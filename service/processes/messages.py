"""The messages between the main process and its fronts: tagged msgspec Structs, sent as msgpack; never pickle.

Descriptors go another way, the front's door: a connection that was accepted, or its ends of the lines to an engine.
"""

from typing import Literal

import msgspec

from service.front.engine_client.engine_host import EngineState, Refusal
from service.ipc.messages import Start
from service.settings import Settings

Outcome = Literal["right", "wrong", "late"]
"""Of a front's health probe."""


NamedKind = Literal["file", "features"]
"""Images that a client may name: sent as files, or as features."""


class ProcessMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Anything that crosses the socket pair of main process and front."""


class ModelMessage(ProcessMessage, frozen=True, kw_only=True):
    """A message about one model's engine."""

    model: int
    """Its place among those served."""


# Main process to front.


class StartFront(ProcessMessage, frozen=True, kw_only=True):
    """The first message."""

    settings: Settings
    index: int
    num_fronts: int
    first_id: int
    """Of its requests; each next one is `num_fronts` more. No front before it had any of them."""


class EngineStatus(ModelMessage, frozen=True, kw_only=True):
    """How the engine is, for `/readyz` and for who asks while there is none."""

    state: EngineState
    detail: str | None
    refusal: Refusal


class GiveUp(ModelMessage, frozen=True, kw_only=True):
    """No engine will come soon: fail what waits."""

    refusal: Refusal


class EngineBroken(ModelMessage, frozen=True, kw_only=True):
    """There can never be an engine."""

    reason: str


class Strikes(ModelMessage, frozen=True, kw_only=True):
    """What other fronts had in an engine that ended, by `prompt_digest`."""

    digests: list[bytes]


class ScrapeFront(ProcessMessage, frozen=True, kw_only=True):
    """A request for a front's own series."""

    number: int


class Merged(ProcessMessage, frozen=True, kw_only=True):
    """The series of all processes, for a front that was asked for `/metrics`."""

    number: int
    text: bytes


# Front to main process.


class FrontServing(ProcessMessage, frozen=True, kw_only=True):
    """Connections may come."""


class Loaded(ModelMessage, frozen=True, kw_only=True):
    """A model's files have been read; the first front's message is what its engine is started with."""

    name: str
    start: Start
    """The name that answers have."""


class Verdict(ModelMessage, frozen=True, kw_only=True):
    """What a front's health probe said of an engine."""

    engine: int
    outcome: Outcome
    reason: str = ""


class Struck(ModelMessage, frozen=True, kw_only=True):
    """What this front had in an engine that ended, by `prompt_digest`."""

    digests: list[bytes]


class Beat(ProcessMessage, frozen=True, kw_only=True):
    """The front's event loop runs."""


class ConnectionsChanged(ProcessMessage, frozen=True, kw_only=True):
    """Connections that have ended since the last message, and those that took the place of another one."""

    by: dict[str, int]
    """Change of a peer's number."""


class Scraped(ProcessMessage, frozen=True, kw_only=True):
    """A front's own series, in Prometheus' text format."""

    number: int
    text: bytes


class ScrapeAll(ProcessMessage, frozen=True, kw_only=True):
    """A request for the series of all processes."""

    number: int


class Failed(ProcessMessage, frozen=True, kw_only=True):
    """This front can never serve; its log says why."""


# Either way.


class UuidBound(ProcessMessage, frozen=True, kw_only=True):
    """A client's name for an image, bound at one front and known at all."""

    index: int
    """Of the front where it was bound."""
    number: int
    """Of that front's names; the others say when they know it."""
    tenant: bytes
    uuid: str
    kind: NamedKind
    item: bytes
    """An `ImageFile` or a `FeaturesItem`, as msgpack."""
    identities: list[bytes]


class UuidKnown(ProcessMessage, frozen=True, kw_only=True):
    """A front knows a name; or all others do, to the front where it was bound."""

    index: int
    """Of that front."""
    number: int


EngineNews = EngineStatus | GiveUp | EngineBroken | Strikes
ToFront = StartFront | EngineStatus | GiveUp | EngineBroken | Strikes | ScrapeFront | Merged | UuidBound | UuidKnown
ToMain = (
    Beat
    | FrontServing
    | Loaded
    | Verdict
    | Struck
    | ConnectionsChanged
    | Scraped
    | ScrapeAll
    | Failed
    | UuidBound
    | UuidKnown
)
