"""Reports of the engine's caches after each step, for the metrics."""

from typing import Literal

import msgspec

TierName = Literal["device", "host", "disk", "valkey"]
"""Where features may be kept, nearest first."""


class TierReport(msgspec.Struct, frozen=True, kw_only=True):
    """One tier of the encoder cache; counters run from the engine's start."""

    tier: TierName
    num_hits: int = 0
    num_misses: int = 0
    num_bytes: int = 0
    num_entries: int = 0
    num_evictions: int = 0
    num_rejected: int = 0
    """Features that were not worth their room, or came faster than they could be written."""
    num_corrupt: int = 0
    """Of a shared tier, as the next two: found but not valid; each is a miss as well."""
    is_up: bool = True
    """True if it worked when it was last used."""
    last_success_s: float = 0.0
    """When it last did, in seconds since the epoch; 0 before it has."""
    evicted_after_s: tuple[float, ...] = ()
    """Ages of what was evicted since the last report; empty for shared tiers."""


class CacheReport(msgspec.Struct, frozen=True, kw_only=True):
    """The encoder cache after a step; counters run from the engine's start."""

    num_entries: int
    """Of the device's tier, as the next two."""
    num_bytes: int
    num_evictions: int
    saved_s: float = 0.0
    """Time that the features took to make, once for each image that did not have to be encoded."""
    tiers: tuple[TierReport, ...] = ()


class ResultReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result cache after a step, and what has happened since the last report."""

    num_entries: int = 0
    num_bytes: int = 0
    num_hits: int = 0
    num_misses: int = 0
    num_evictions: int = 0
    num_deduplicated: int = 0
    """Requests that joined another's run."""
