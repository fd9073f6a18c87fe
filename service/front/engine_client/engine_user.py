"""Who uses an engine that a `Supervisor` keeps: the `EngineClient` of the only front, or all fronts together."""

from typing import Protocol

from service.front.engine_client.engine_host import Refusal
from service.ipc.channel import AsyncChannel
from service.ipc.messages import EngineMessage, StepStarted


class EngineUser(Protocol):
    """Is told what becomes of the engine.

    Attributes:
        refusal: the error of every request while there is no engine.
    """

    refusal: Refusal

    def attach(self, channel: AsyncChannel[EngineMessage]) -> None:
        """An engine is loaded at the other end of `channel`; only the health probe may ask it yet."""
        ...

    def open(self) -> None:
        """Its health probe has passed: it is open to all requests."""
        ...

    def close(self) -> None:
        """It gave a wrong answer or none: ask it nothing more."""
        ...

    def ping(self) -> None:
        """Ask it for a `Pong`."""
        ...

    def detach(self) -> object:
        """It has ended."""
        ...

    def give_up(self) -> None:
        """Fail all requests: no engine will come soon."""
        ...

    def receive(self, message: EngineMessage) -> None:
        """Handle a message of the engine."""
        ...

    def announced(self, step: StepStarted) -> None:
        """Note the step that the engine has entered."""
        ...
