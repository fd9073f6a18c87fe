"""The ingress deployment: the app of `cenote serve`, with replicas in place of the engine process."""

import os
from collections.abc import Mapping
from typing import Any

from litestar.types import ASGIApp
from ray import serve
from ray.serve.handle import DeploymentHandle

from cenote_ray.asgi import OneId, ReadyFirst
from cenote_ray.mirror import Mirror
from cenote_ray.replicas import Replicas
from service import logs
from service.app import create_app
from service.front.engine_client.engine_host import HostNeeds
from service.front.hub.hosted_front import HostedFront
from service.settings.setting_sources import load_settings

_built: list[ASGIApp] = []
"""Apps passed between the two steps of a replica's start, which Serve runs one after the other."""


class IngressFailedError(Exception):
    """The model's files cannot be read: Ray reports it, and tries another replica."""


class Ingress:
    """One replica of the ingress. It holds the tokenizer and no weights."""

    def __init__(self, settings: Mapping[str, Any], *embedders: DeploymentHandle, has_affinity: bool = True) -> None:
        """Create the app, which `serve_app` returns.

        Args:
            settings: by name, as `load_settings` takes flags; the machine's environment has the others.
            embedders: the deployment of engines of each model.
            has_affinity: route an input to the replica that had its content before.
        """
        loaded = load_settings(settings, os.environ)
        logs.configure(loaded.log_format, loaded.log_level)

        def open_host(needs: HostNeeds) -> Replicas:
            return Replicas(embedders[needs.index], needs, has_affinity=has_affinity)

        app, self._serving = create_app(loaded, HostedFront(loaded), open_host)
        _built.append(ReadyFirst(OneId(app), self._serving))
        Mirror().start()

    def check_health(self) -> None:
        """Serve's health check.

        Raises:
            IngressFailedError: the service has failed.
        """
        if self._serving.failure is not None:
            raise IngressFailedError(self._serving.failure)


def serve_app() -> ASGIApp:
    """The app of the replica that starts now: Litestar's cannot be pickled, so Serve is given what returns it."""
    return _built.pop()


IngressWithApp = serve.ingress(serve_app)(Ingress)
