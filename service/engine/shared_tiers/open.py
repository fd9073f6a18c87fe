"""Opens the encoder cache and its shared tiers as the settings and the device have it."""

import logging
from collections.abc import Callable
from pathlib import Path

import torch

from service.engine.encoder_cache.cache import EncoderCache
from service.engine.shared_tiers.codec import FeaturesCodec, tower_digest
from service.engine.shared_tiers.disk import DiskTier
from service.engine.shared_tiers.host_pages import HostPages
from service.engine.shared_tiers.shared import LookedUp, SharedTier, SharedTiers
from service.engine.shared_tiers.valkey import ValkeyTier
from service.ipc.messages import Start
from service.model.model import Model

logger = logging.getLogger("cenote.engine")


def open_cache(start: Start, device: torch.device) -> EncoderCache[torch.Tensor]:
    """An empty cache: two tiers on CUDA, one on the CPU, where the second would be the same memory."""
    if device.type != "cuda" or not start.host_cache_bytes or not start.encoder_cache_bytes:
        if device.type != "cuda" and start.host_cache_bytes:
            logger.info("encoder cache: one tier; the host tier is for devices with memory of their own")
        return EncoderCache(start.encoder_cache_bytes, start.max_tenant_share)
    pages = HostPages(start.host_cache_bytes, device)
    return EncoderCache(
        start.encoder_cache_bytes, start.max_tenant_share, host_memory=pages, max_host_bytes=pages.max_bytes
    )


def open_codec(start: Start, model: Model) -> FeaturesCodec | None:
    """Return the codec of features for other processes; None where none are shared. Reads all weights of the tower."""
    tower = model.backbone.tower
    if tower is None or (start.disk_cache is None and start.valkey_url is None):
        return None
    namespace = tower_digest(tower.module, tower.config_json)
    return FeaturesCodec(namespace, tower.dtype, tower.feature_width, model.backbone.device)


def open_shared(
    start: Start, codec: FeaturesCodec, deliver: Callable[[LookedUp[torch.Tensor]], None]
) -> SharedTiers[torch.Tensor]:
    """The tiers that processes share, nearest first. A disk that cannot be used is logged and left out."""
    tiers: list[SharedTier] = []
    if start.disk_cache is not None:
        try:
            tiers.append(DiskTier(Path(start.disk_cache), start.disk_cache_bytes))
        except OSError:
            logger.exception("the disk cache cannot be used; the engine runs without it")
    if start.valkey_url is not None:
        tiers.append(ValkeyTier(start.valkey_url))
    return SharedTiers(tiers, codec, deliver)
