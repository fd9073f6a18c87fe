"""The ingress deployment: the app of `cenote serve`, whole, with replicas in the place of the engine process."""

import os
from collections.abc import Mapping
from functools import partial

from litestar.types import ASGIApp
from ray import serve
from ray.serve.handle import DeploymentHandle

from cenote_ray.mirror import Mirror
from cenote_ray.one_id import OneId
from cenote_ray.ready_first import ReadyFirst
from cenote_ray.replicas import Replicas
from service import logs
from service.app import create_app
from service.setting_sources import load_settings

_built: list[ASGIApp] = []
"""Between the two steps of a replica's start, which Serve takes one after the other."""


class IngressFailedError(Exception):
    """The model's files cannot be read: Ray says so, and tries another replica."""


class Ingress:
    """What Ray Serve makes of each replica. It holds the tokenizer and no weights."""

    def __init__(self, settings: Mapping[str, str], embedder: DeploymentHandle, *, has_affinity: bool = True) -> None:
        """Make the app; `serve_app` hands it over.

        Args:
            settings: as flags have them; this machine's environment fills in the others.
            embedder: the deployment of engines.
            has_affinity: inputs go where their content went before.
        """
        loaded = load_settings(settings, os.environ)
        logs.configure(loaded.log_format, loaded.log_level)
        app, self._serving = create_app(loaded, partial(Replicas, embedder, has_affinity=has_affinity))
        _built.append(ReadyFirst(OneId(app), self._serving))
        Mirror().start()

    def check_health(self) -> None:
        """Serve's own probe.

        Raises:
            IngressFailedError: it can never serve.
        """
        if self._serving.failure is not None:
            raise IngressFailedError(self._serving.failure)


def serve_app() -> ASGIApp:
    """The app of the replica that starts now: Litestar's cannot be pickled, so Serve is given what returns it."""
    return _built.pop()


IngressWithApp = serve.ingress(serve_app)(Ingress)
