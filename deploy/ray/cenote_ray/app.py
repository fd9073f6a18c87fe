"""The Serve application: an ingress with the whole HTTP front, and engines behind it. `cenote_ray.app:build`.

Each model has a deployment of its own: `embedder` where there is one, `embedder-NAME` for each of several.

The ingress reads, checks and tokenizes; an embedder decodes, caches and runs the model. Settings are those of `cenote
serve`, by their names; each process fills in its own `CENOTE_*` environment, so secrets need not stand in the config.
"""

import os
from collections.abc import Mapping
from typing import Any

from ray import serve
from ray.serve.config import RequestRouterConfig

from cenote_ray.embedder import EmbedderReplica
from cenote_ray.ingress import IngressWithApp
from service.settings.setting_sources import load_settings

EMBEDDER = "embedder"
INGRESS = "ingress"
RING = "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter"
FALLBACKS = 2
"""Replicas to try when the owner of a key is full: the next two on the ring."""
MAX_EMBEDDER_CALLS = 64
"""Concurrent calls of an embedder; beyond it its keys spill to others."""
MAX_INGRESS_REQUESTS = 1024
"""Concurrent requests of an ingress. Its own limits of tokens and bytes are lower, and answer with the API's errors."""


def build(arguments: Mapping[str, Any]) -> serve.Application:
    """The application.

    Args:
        arguments: `settings` by name (`model`, `max_batch_tokens`, ..., `models` with a table for each of several),
            and `affinity`: false sends each input to any replica, for inputs that are never repeated. The Serve config
            has number, resources and scaling of replicas.

    Raises:
        SettingsError: a setting is unknown or invalid.
    """
    settings = as_given(dict(arguments.get("settings") or {}))
    plan = load_settings(settings, os.environ)  # an error stops the deployment here instead of in each replica
    names = [f"{EMBEDDER}-{one.served_name[0]}" for one in plan.models] or [EMBEDDER]
    ring = RequestRouterConfig(request_router_class=RING, request_router_kwargs={"num_fallback_replicas": FALLBACKS})
    embedders = [
        serve.deployment(
            EmbedderReplica, name=name, max_ongoing_requests=MAX_EMBEDDER_CALLS, request_router_config=ring
        ).bind(settings, model)
        for model, name in enumerate(names)
    ]
    ingress = serve.deployment(IngressWithApp, name=INGRESS, max_ongoing_requests=MAX_INGRESS_REQUESTS)
    return ingress.bind(settings, *embedders, has_affinity=bool(arguments.get("affinity", True)))


def as_given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a Serve config as `cenote serve` is given them: strings, but for the tables of `models`."""
    return {name: value if isinstance(value, dict) else str(value) for name, value in settings.items()}
