"""What runs prompts: an engine process beside this front, or replicas on other machines. The seam between the two.

In: prompts, as the front has read and tokenized them, with their pictures as they were sent. Out: one outcome each.
Whoever hosts engines also says when they answer, and keeps them. Knows no host: `local_engine.py` is the usual one.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from service.decode.clips import ClipDecoder
from service.decode.sounds import SoundDecoder
from service.errors import ServiceError
from service.front.job import Embedded
from service.front.served_model import ServedModel
from service.front.tenant import Caller
from service.ipc.messages import Ready, Wanted
from service.prompt.prompt import Prompt
from service.settings import Settings

EngineState = Literal["loading", "ready", "restarting", "crash_loop", "failed"]


class PromptEngine(Protocol):
    """Runs prompts."""

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when it may be asked.

        Raises:
            UnavailableError: it is not there, or has not answered its known question yet.
        """
        ...

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], output: Wanted, caller: Caller, *, per_item: bool
    ) -> Embedded:
        """Every prompt's outcome, in order; errors that came in the place of a prompt stay there.

        Args:
            prepared: of one request, by input; errors name those.
            output: what is wanted of each.
            caller: who waits, and until when.
            per_item: an input that fails leaves the others alone.

        Raises:
            ServiceError: the first input that failed, unless `per_item`; or what concerns them all.
        """
        ...


class Keeper(Protocol):
    """Keeps engines, and says how they are."""

    @property
    def state(self) -> EngineState:
        """What `/readyz` tells."""
        ...

    @property
    def detail(self) -> str | None:
        """One sentence on the state, or None."""
        ...

    @property
    def ready(self) -> Ready | None:
        """An engine's own facts, once there was one."""
        ...

    async def run(self) -> None:
        """Keep them until told to end, or cancelled.

        Raises:
            EngineBrokenError: there can never be one.
        """
        ...

    def end(self) -> None:
        """The service goes: who still waits is told."""
        ...


class EngineHost(PromptEngine, Protocol):
    """Runs prompts on engines that it keeps."""

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> Keeper:
        """What keeps them.

        Args:
            known_answer: asks the service's own question through `run`; raises when the answer is not the first one.
        """
        ...


@dataclass(frozen=True, slots=True)
class HostNeeds:
    """What a host is made of.

    Attributes:
        settings: of the service.
        model: whose files have been read.
        cores: CPU threads that the service may use.
        clips: opens and decodes video files, or None.
        sounds: likewise sounds.
        observe: wants to know of work that is done: tokens, and seconds that they took.
    """

    settings: Settings
    model: ServedModel
    cores: int
    clips: ClipDecoder | None
    sounds: SoundDecoder | None
    observe: Callable[[int, float], None]


OpenHost = Callable[[HostNeeds], EngineHost]
"""Makes a host; nothing is started before its keeper runs."""
