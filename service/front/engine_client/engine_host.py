"""The seam between front and engines: protocols of what runs prompts, beside this front or on other machines.

In: prompts, with their media as they were sent. Out: one result each. A host also keeps its engines and says when they
are ready. `local_engine.py` is the usual one.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from service.decode.start import Decoders
from service.engine_series import ClientSeries
from service.errors import ServiceError
from service.front.admission.budget import DrainRate
from service.front.admission.forward_rate import ForwardRate
from service.front.engine_client.front_link import EngineState, FrontLink
from service.front.job import EmbedResult
from service.front.served_model import ServedModel
from service.front.tenant import Caller
from service.ipc.messages import Ready
from service.outputs.ask import Asks
from service.prompt.prompt import Prompt
from service.settings.settings import Settings


class PromptEngine(Protocol):
    """Runs prompts.

    `ModelServing._keep_engine` binds it: to `local_engine.LocalEngine` unless the app was made with another `open_host`
    (`deploy/ray`), behind `shared_vectors.SharedVectors` where finished vectors are shared.
    """

    def check_open(self, *, is_probe: bool = False) -> None:
        """Pass when it may be asked. UnavailableError: there is no engine, or its health probe has not passed yet."""
        ...

    async def run(
        self, prepared: Mapping[int, Prompt | ServiceError], asks: Asks, caller: Caller, *, per_item: bool
    ) -> EmbedResult:
        """Every prompt's result, in order; errors in the place of a prompt stay there.

        Args:
            prepared: the prompts of one request by input, which errors name.
            asks: what to make of each.
            per_item: an input that fails leaves the others alone.

        Raises:
            ServiceError: the first input that failed, unless `per_item`; or what concerns them all.
        """
        ...


class Keeper(Protocol):
    """Keeps engines, and says how they are."""

    @property
    def state(self) -> EngineState:
        """The state, as `/readyz` has it."""
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
        """Keep them until `end`, or cancelled. EngineBrokenError: there can never be one."""
        ...

    def end(self) -> None:
        """End the engines; requests that still wait fail."""
        ...


class EngineHost(PromptEngine, Protocol):
    """Runs prompts on engines that it keeps."""

    def keeper(self, known_answer: Callable[[], Awaitable[None]]) -> Keeper:
        """Return their keeper.

        Args:
            known_answer: asks the service's own question through `run`; raises when the answer is not the first one.
        """
        ...


@dataclass(frozen=True, slots=True)
class EngineGroup:
    """Models in one engine: adapters of one base, and the base.

    Attributes:
        models: their places among those of the service; the engine is that of the first.
        folder: of the base and the adapters; empty for one model alone.
    """

    models: tuple[int, ...]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class HostNeeds:
    """Parts of a host.

    Attributes:
        settings: of the service, as they are for this model.
        index: its place among the models of the service.
        cores: CPU threads that this process may use.
        engine_threads: that an engine may use.
        rate: is told the tokens of each forward.
        forwards: is told how long it took.
        series: count what this front has to do with the model's engines.
        tower: names the features of images, 32 bytes: the model's fingerprint, or that of another with the same tower.
        group: the models in that engine.
    """

    settings: Settings
    model: ServedModel
    index: int
    cores: int
    engine_threads: int
    decoders: Decoders
    rate: DrainRate
    forwards: ForwardRate
    series: ClientSeries
    tower: bytes
    link: FrontLink
    group: EngineGroup


OpenHost = Callable[[HostNeeds], EngineHost]
"""Makes a host; nothing is started before its keeper runs."""
