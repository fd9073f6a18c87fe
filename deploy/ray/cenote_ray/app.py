"""The Serve application: an ingress with the whole HTTP front, and embedders behind it. `cenote_ray.app:build`.

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
from service.setting_sources import load_settings

EMBEDDER = "embedder"
INGRESS = "ingress"
RING = "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter"
FALLBACKS = 2
"""Who is asked when the owner of a key is full: the next on the ring, and the one after it."""
MAX_EMBEDDER_CALLS = 64
"""Calls that an embedder takes at once; more of its keys spill to others."""
MAX_INGRESS_REQUESTS = 1024
"""Requests at an ingress at once. Its own bounds are lower in tokens and bytes, and refuse in our words."""


def build(arguments: Mapping[str, Any]) -> serve.Application:
    """The application.

    Args:
        arguments: `settings`, by name as flags have them (`model`, `max_batch_tokens`, ...). How many replicas there
            are, on what, and how they scale stands in the Serve config under the deployments' names. `affinity: false`
            sends each input anywhere, for those whose inputs never come again.

    Raises:
        SettingsError: a setting is unknown or has a value that it cannot have.
    """
    settings = {name: str(value) for name, value in dict(arguments.get("settings") or {}).items()}
    load_settings(settings, os.environ)  # what is wrong stops the deployment here, and not in each replica
    ring = RequestRouterConfig(request_router_class=RING, request_router_kwargs={"fallback_replicas": FALLBACKS})
    embedder = serve.deployment(
        EmbedderReplica, name=EMBEDDER, max_ongoing_requests=MAX_EMBEDDER_CALLS, request_router_config=ring
    )
    ingress = serve.deployment(IngressWithApp, name=INGRESS, max_ongoing_requests=MAX_INGRESS_REQUESTS)
    return ingress.bind(settings, embedder.bind(settings), has_affinity=bool(arguments.get("affinity", True)))
