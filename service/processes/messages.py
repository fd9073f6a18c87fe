"""The messages between the main process and its fronts: tagged msgspec Structs, sent as msgpack; never pickle.

Those about engines are in `service/front/engine_client/front_link.py`. Descriptors go another way
(`ipc/descriptors.py`): a connection that was accepted, or a front's ends of the lines to an engine.
"""

import msgspec

from service.front.engine_client.front_link import EngineNews, EngineReport
from service.settings import Settings


class ProcessMessage(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Anything else that crosses the socket pair of main process and front."""


# Main process to front.


class StartFront(ProcessMessage, frozen=True, kw_only=True):
    """The first message."""

    settings: Settings
    index: int
    num_fronts: int
    first_id: int
    """Of its requests; each next one is `num_fronts` more. No front before it had any of them."""


# Front to main process.


class FrontServing(ProcessMessage, frozen=True, kw_only=True):
    """Connections may come."""


class Beat(ProcessMessage, frozen=True, kw_only=True):
    """The front's event loop runs."""


class ConnectionsChanged(ProcessMessage, frozen=True, kw_only=True):
    """Connections that have ended since the last message, and those that took the place of another one."""

    by: dict[str, int]
    """Change of a peer's number."""


class Failed(ProcessMessage, frozen=True, kw_only=True):
    """This front can never serve; its log says why."""


# Either way. The main process asks a front, which asks it for what all fronts together say.


class AskSeries(ProcessMessage, frozen=True, kw_only=True):
    """A question for series in Prometheus' text format."""

    number: int


class AskUuid(ProcessMessage, frozen=True, kw_only=True):
    """A question for what a client's name for an image is bound to, as `UuidStore.packed` gives it."""

    number: int
    tenant: bytes
    uuid: str


class Answered(ProcessMessage, frozen=True, kw_only=True):
    """The answer to a question, by the number that its asker gave it."""

    number: int
    body: bytes


ToFront = StartFront | EngineNews | AskSeries | AskUuid | Answered
ToMain = Beat | FrontServing | EngineReport | ConnectionsChanged | Failed | AskSeries | AskUuid | Answered
