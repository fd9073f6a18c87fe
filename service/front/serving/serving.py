"""The state after the routes: the settings, what all models share, and each model with its engine."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from litestar import Litestar
from msgspec import UNSET

from schemas.endpoints.health import Health
from schemas.parsing.hints import shown
from service.checkpoint.hub import UNNAMED, find_checkpoint, is_hub_id
from service.errors import InputError, NotFoundError
from service.fairness.threads import FairThreads, LoopTimeSlices, in_daemon_thread
from service.front.admission.api_keys import Keyring
from service.front.engine_client.engine_host import OpenHost
from service.front.engine_client.local_engine import LocalEngine
from service.front.inputs.checking import holds_media
from service.front.served_model import ServedModel
from service.front.serving.model_serving import ModelServing, Online
from service.front.serving.resources import Resources
from service.front.serving.shared_towers import SharedTowers, remove_abandoned
from service.outputs.kinds import Need, check_fits, fits
from service.prompt.detect import load_profile
from service.settings.settings import Settings

Use = Need | Literal["score", "features", "prompt"]
"""Use of a model by a route: outputs that it has to have, a score of pairs, features of images, or no more than
reading prompts."""

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

    def find(self, name: str | None, use: Use, route: str = "this route", body: object = None) -> Online:
        """The model that a request means, and its engine.

        Args:
            use: what the route does with it.
            route: that asks, for errors.
            body: what is asked; it counts where neither request nor operator has named a model.

        Raises:
            NotFoundError: none is called so.
            InputError: the one that is has nothing for this route, or a name is missing.
            UnavailableError: it is still loading, or never will be there.
        """
        known = [one.model for one in self.models if one.model is not None]
        if len(known) < len(self.models) and not any(name in model.names for model in known):
            next(one for one in self.models if one.model is None).refuse()
        if name is None and [one.settings.model for one in self.models] == [*UNNAMED.values()]:
            known = of_content(known, body)
        model = choose(known, name, use, route)
        serving = next(one for one in self.models if one.model is model)
        return serving.online or serving.refuse()

    def all_online(self) -> list[Online]:
        """Every model.

        Raises:
            UnavailableError: one of them is still loading, or never will be there.
        """
        return [one.online or one.refuse() for one in self.models]

    def main(self) -> Online:
        """The first model, for what is about the server as a whole.

        Raises:
            UnavailableError: it is still loading, or never will be there.
        """
        return self.models[0].online or self.models[0].refuse()

    @property
    def failure(self) -> str | None:
        """Why the service can never be ready, or None."""
        return next((one.failure for one in self.models if one.failure), None)

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
        has_some = any(one.status == "ok" for one in states) and all(one.online is not None for one in self.models)
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


def check_local_files(settings: Settings) -> None:
    """Read what says which family each model is of, where that takes no download: before a port is opened.

    Raises:
        CheckpointError: a model's files are not there, or not what they should be.
    """
    for one in settings.of_each_model:
        if not is_hub_id(one.model):
            load_profile(find_checkpoint(one.model, one.revision).folder, one.family or "")


def serving_of(app: Litestar) -> Serving:
    """The service after an app."""
    serving: Serving = app.state.serving
    return serving


def choose(models: Sequence[ServedModel], name: str | None, use: Use, route: str = "this route") -> ServedModel:
    """The model of that name; without a name the only one of the kind that is used.

    A reranker is the first choice for scores, whose place any other model may take; for prompts an embedder is.

    Args:
        models: that are served, in the order of the settings; at least one.
        route: that asks, for errors.

    Raises:
        NotFoundError: none has the name.
        InputError: the one that has it is of another kind; or there is no name, and more than one would do.
    """
    if name is not None:
        model = named(models, name)
        if model is None:
            raise NotFoundError("model_not_found", f"`model`: {not_served(name, models)}", param="model")
    else:
        fitting = _fitting(models, use) if len(models) > 1 else models
        if len(fitting) > 1 or (not fitting and use == "features"):
            names = ", ".join(one.name for one in fitting or models)
            message = f"`model`: got none, and several are served here; expected one of {names}"
            raise InputError("invalid_request", message, param="model")
        model = (fitting or models)[0]
    if use == "dense" or use == "sparse" or use == "vectors":  # mypy reads no `in`
        try:
            check_fits(model.offer, use, route)
        except InputError as error:
            if fitting := _fitting(models, use):
                error.message += f"; served here for it: {', '.join(one.name for one in fitting)}"
            raise
    return model


def of_content(models: Sequence[ServedModel], body: object) -> list[ServedModel]:
    """Those that a request is for: models of texts alone where it has nothing else, the others for media."""
    has_media = holds_media(body)
    return [one for one in models if (len(one.profile.modalities) > 1) == has_media]


def named(models: Sequence[ServedModel], name: str) -> ServedModel | None:
    """The model of that name, or None; what an operator calls one comes before what another is called besides."""
    own = (one for one in models if name in (one.name, *one.more_names))
    return next(own, None) or next((one for one in models if name in one.names), None)


def not_served(name: str, models: Sequence[ServedModel]) -> str:
    """Return the message for a client that asked for another model by `name`."""
    names = dict.fromkeys(one for model in models for one in model.names)
    got = (shown(name) or "a name") if name else "an empty string"
    return f"got {got}, which is not served here; served: {', '.join(names)}"


def _fitting(models: Sequence[ServedModel], use: Use) -> list[ServedModel]:
    embedders = [one for one in models if fits(one.offer, "vectors")]
    rerankers = [one for one in models if one not in embedders]
    match use:
        case "score":
            return rerankers or embedders
        case "prompt":
            return embedders or rerankers
        case "features":
            return [one for one in embedders if one.profile.images] or [one for one in rerankers if one.profile.images]
        case _:
            return [one for one in embedders if fits(one.offer, use)]
