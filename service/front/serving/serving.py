"""The state after the routes: the settings, what all models share, and each model with its engine."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from litestar import Litestar
from msgspec import UNSET

from schemas.endpoints.health import Health
from service.fairness.threads import FairThreads
from service.front.admission.api_keys import Keyring
from service.front.daemon_thread import in_daemon_thread
from service.front.engine_client.engine_host import OpenHost
from service.front.engine_client.local_engine import LocalEngine
from service.front.serving.choice import Use, choose
from service.front.serving.model_serving import ModelServing, Online
from service.front.serving.resources import Resources
from service.front.serving.shared_towers import SharedTowers, remove_abandoned
from service.front.time_slices import LoopTimeSlices

SMALL_BODY_BYTES = 1 << 20
"""Bodies that are decoded in a millisecond or two; they take turns with larger ones."""


@dataclass(slots=True)
class Serving(Resources):
    """The life of one service, from `loading` to the end.

    Attributes:
        open_host: makes what runs prompts.
        ended: set when one of the models can never be ready.
        is_draining: a signal has come; requests are still taken, but better sent elsewhere.
        keyring: the API keys; None where nobody is asked for one.
        turns: in which long work is done on the loop.
        bodies: where large bodies are decoded. One thread: decoding holds Python's global lock, 1 to 2 ms for a
            megabyte. Two are never done sooner in two threads than in one, and the loop has its turn between them.
        towers: where models with one vision tower meet.
        models: what is served, in the order of the settings.
    """

    open_host: OpenHost = LocalEngine
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    is_draining: bool = False
    keyring: Keyring | None = field(init=False)
    turns: LoopTimeSlices = field(default_factory=LoopTimeSlices)
    bodies: FairThreads = field(default_factory=lambda: FairThreads(1, "body", small=SMALL_BODY_BYTES, num_spare=0))
    towers: SharedTowers = field(init=False)
    models: tuple[ModelServing, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Queue and keys are there before the model: bodies are held and keys are checked while it loads, too.

        Raises:
            SettingsError: the file of keys is not one; a host, a port, a directory or a shared cache is none.
        """
        Resources.__post_init__(self)
        path, plans = self.settings.api_keys, self.settings.of_each_model
        self.keyring = None if path is None else Keyring(Path(path), self.link.table)
        self.link.share_uuids(self.uuids)
        self.towers = SharedTowers(len(plans), self.link.owner_pid)
        self.models = tuple(
            ModelServing(one, index, self, self.towers, self.open_host) for index, one in enumerate(plans)
        )

    def find(self, name: str | None, use: Use, route: str | None = None) -> Online:
        """The model that a request means, and its engine.

        Args:
            name: that the request gives, or None.
            use: what the route does with it.
            route: that asks, for errors.

        Raises:
            NotFoundError: none is called so.
            InputError: the one that is has nothing for this route, or a name is missing.
            UnavailableError: it is still loading, or never will be there.
        """
        known = [one.model for one in self.models if one.model is not None]
        if len(known) < len(self.models) and not any(name in model.names for model in known):
            next(one for one in self.models if one.model is None).online()  # raises
        model = choose(known, name, use, route)
        return next(one for one in self.models if one.model is model).online()

    def all_online(self) -> list[Online]:
        """Every model.

        Raises:
            UnavailableError: one of them is still loading, or never will be there.
        """
        return [one.online() for one in self.models]

    def main(self) -> Online:
        """The first model, for what is about the server as a whole.

        Raises:
            UnavailableError: it is still loading, or never will be there.
        """
        return self.models[0].online()

    @property
    def failure(self) -> str | None:
        """Why the service can never be ready, or None."""
        return next((one.failure for one in self.models if one.failure is not None), None)

    def health(self) -> Health:
        """Answer of `/readyz`: with several models `ok` once each has been ready, for as long as any of them is.

        A balancer that took the whole server out for one model would take the others' requests along; those for the one
        are answered 503 by themselves.
        """
        states = [one.health() for one in self.models]
        worst = next((one for one in states if one.status != "ok"), states[0])
        models = states if len(states) > 1 else UNSET
        if worst.status != "failed" and self.is_draining:
            going = "the server is going; send requests to another"
            return Health(status="draining", detail=going, models=models)
        has_some = any(one.status == "ok" for one in states) and all(one.has_been_ready for one in self.models)
        if worst.status == "ok" or (has_some and worst.status != "failed"):
            detail = None if worst.status == "ok" else f"{worst.name}: {worst.detail}"
            return Health(status="ok", detail=detail, models=models)
        detail = worst.detail if len(states) == 1 else f"{worst.name}: {worst.detail}"
        return Health(status=worst.status, detail=detail, models=models)

    def give_up(self) -> None:
        """The drain's time is over: who still waits is told, and the engines end."""
        for one in self.models:
            one.end()

    async def run(self) -> None:
        """Keep every model; returns only when one of them can never work."""
        running = [asyncio.create_task(one.run()) for one in self.models]
        cleaning = asyncio.create_task(in_daemon_thread(remove_abandoned, "abandoned"))
        try:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*running, cleaning):
                task.cancel()
            await asyncio.gather(*running, cleaning, return_exceptions=True)
            await self.link.close()
            self.towers.close()
            remove_abandoned()
            self.ended.set()


def serving_of(app: Litestar) -> Serving:
    """The service after an app."""
    serving: Serving = app.state.serving
    return serving
