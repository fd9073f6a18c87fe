"""One model's engine in the main process of several fronts: kept by a `Supervisor`, shared by all fronts."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from service.engine_series import EngineSeries
from service.front.engine_client.engine_host import RESTARTING
from service.front.engine_client.local_engine import patience
from service.front.engine_client.supervisor import EngineBrokenError, Supervisor
from service.ipc.arena import create_shared_file
from service.processes.engine_sharing import EngineSharing
from service.processes.front_process import FrontProcess
from service.processes.messages import EngineBroken, EngineStatus, Loaded, Strikes, Struck, Verdict
from service.settings import Settings

logger = logging.getLogger("cenote.main")


class SharedEngine:
    """Keeps the engine of one model once a front has read the model's files.

    Args:
        settings: of the service, as they are for this model.
        model: its place among those served.
        fronts: all of them; filled after this is made.
        num_fronts: how many there will be.

    Attributes:
        arena: descriptor of the shared memory for pixels, with a part for each front.
        status: what the fronts were told last.
        has_failed: there can never be an engine.
        was_ready: its health probe has passed once.
    """

    def __init__(self, settings: Settings, model: int, fronts: Sequence[FrontProcess], num_fronts: int) -> None:
        self.arena = create_shared_file(num_fronts * settings.pixel_arena_bytes)
        self.status = EngineStatus(model=model, state="loading", detail="the model is loading", refusal=RESTARTING)
        self.has_failed = self.was_ready = False
        self._settings = settings
        self._model = model
        self._fronts = fronts
        self._sharing = EngineSharing(model, self.arena, lambda: fronts)
        self._supervisor: Supervisor | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether a front has read the model's files."""
        return self._keeping is not None

    @property
    def is_ready(self) -> bool:
        """Whether it answers now."""
        return self._supervisor is not None and self._supervisor.state == "ready"

    def connect_all(self) -> None:
        """Connect the fronts that are not; see `EngineSharing.connect_all`."""
        self._sharing.connect_all()

    def tell_status(self) -> None:
        """Tell every front how the engine is, where that has changed."""
        keeper = self._supervisor
        if keeper is None:
            return
        self.was_ready |= self.is_ready
        status = EngineStatus(
            model=self._model, state=keeper.state, detail=keeper.detail, refusal=self._sharing.refusal
        )
        if status != self.status:
            self.status = status
            for front in self._fronts:
                front.send(status)

    def look(self) -> None:
        """Have what the engine has reported counted."""
        if self._supervisor is not None:
            self._supervisor.look()

    def take(self, front: FrontProcess, message: Loaded | Verdict | Struck) -> None:
        """Hear what a front says of this model."""
        match message:
            case Loaded():
                front.links[self._model].is_loaded = True
                if self._keeping is None:
                    self._keeping = asyncio.create_task(self._keep(message))
                self._sharing.connect_all()
            case Verdict():
                self._sharing.heard(front, message)
            case Struck(digests=digests):
                for other in self._fronts if digests else ():
                    if other is not front:
                        other.send(Strikes(model=self._model, digests=digests))

    async def _keep(self, loaded: Loaded) -> None:
        self._supervisor = keeper = Supervisor(
            start=loaded.start,
            spawn=partial(self._sharing.spawn, loaded.name),
            client=self._sharing,
            known_answer=self._sharing.known_answer,
            series=EngineSeries(loaded.name),
            patience=patience(self._settings).with_probe_s(0.0),  # each front asks by itself
        )
        try:
            await keeper.run()
        except EngineBrokenError as error:
            logger.error("%s", error)
            for front in self._fronts:
                front.send(EngineBroken(model=self._model, reason=str(error)))
            self.has_failed = True

    async def end(self) -> None:
        """End the engine."""
        if self._supervisor is not None:
            self._supervisor.end()
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
