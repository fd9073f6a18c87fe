"""How many CPU cores this process may really use: its affinity and its container's quota, not the host's count."""

import math
import os
from pathlib import Path

CGROUP_V2 = Path("/sys/fs/cgroup/cpu.max")
CGROUP_V1 = Path("/sys/fs/cgroup/cpu")


def available_cores() -> int:
    """Cores by affinity, cut to the cgroup's quota, at least one.

    Source: Linux cgroup-v2 `cpu.max`, cgroup-v1 `cpu.cfs_quota_us`; text-embeddings-inference issue 405 is what
    happens without it.
    """
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _quota_cores()
    return max(1, affinity if quota is None else min(affinity, math.ceil(quota)))


def _quota_cores() -> float | None:
    try:
        if CGROUP_V2.exists():
            quota, period = CGROUP_V2.read_text().split()
        else:
            quota = (CGROUP_V1 / "cpu.cfs_quota_us").read_text().strip()
            period = (CGROUP_V1 / "cpu.cfs_period_us").read_text().strip()
        return None if quota in ("max", "-1") else int(quota) / int(period)
    except (OSError, ValueError):
        return None
