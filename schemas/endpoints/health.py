"""The answer of the health probes `/livez`, `/readyz` and `/health`."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer

HealthStatus = Literal["ok", "loading", "restarting", "crash_loop", "draining", "failed"]
"""`ok` only when the health probe's embedding has matched its known answer."""


class ModelHealth(Answer, frozen=True, kw_only=True):
    """The state of one model, where several are served."""

    name: Annotated[str, Meta(description="The first of its names.", examples=["search"])]
    status: Annotated[HealthStatus, Meta(description="`ok` when its requests are answered.", examples=["restarting"])]
    detail: Annotated[
        str | None,
        Meta(description="One sentence for a person to read; null when all is well.", examples=["the engine has gone"]),
    ] = None


class Health(Answer, frozen=True, kw_only=True):
    """The state of the server."""

    status: Annotated[
        HealthStatus, Meta(description="`ok` when requests are answered; else why they are not.", examples=["ok"])
    ]
    detail: Annotated[
        str | None, Meta(description="One sentence for a person to read; null when all is well.", examples=[None])
    ] = None
    models: Annotated[list[ModelHealth] | UnsetType, Meta(description="Each model, where several are served.")] = UNSET
