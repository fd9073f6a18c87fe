"""Chooses the model that a request means among those that are served."""

from collections.abc import Sequence
from typing import Literal

from schemas.parsing.hints import shown
from service.errors import InputError, NotFoundError
from service.front.served_model import ServedModel
from service.outputs.kinds import Need, check_fits, fits

Use = Need | Literal["score", "features", "prompt"]
"""Use of a model by a route: outputs that it has to have, a score of pairs, features of images, or no more than
reading prompts."""


def choose(models: Sequence[ServedModel], name: str | None, use: Use, route: str | None = None) -> ServedModel:
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
        _check(model, models, use, route)
        return model
    if len(models) == 1:
        _check(models[0], models, use, route)
        return models[0]
    fitting = _fitting(models, use)
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        _check(models[0], models, use, route)
    names = ", ".join(one.name for one in fitting or models)
    raise InputError(
        "invalid_request", f"`model`: got none, and several are served here; expected one of {names}", param="model"
    )


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


def _check(model: ServedModel, models: Sequence[ServedModel], use: Use, route: str | None) -> None:
    """Refuse a model of another kind, naming those that are served for it.

    Raises:
        InputError: it is of another kind.
    """
    if use == "score" or use == "features" or use == "prompt":  # mypy reads no `in`
        return
    try:
        check_fits(model.offer, use, route or "this route")
    except InputError as error:
        if fitting := _fitting(models, use):
            error.message += f"; served here for it: {', '.join(one.name for one in fitting)}"
        raise
