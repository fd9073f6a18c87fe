"""Conditions of a figure: the machine, the versions, the day and the commit."""

import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from service.front.serving.process_tuning import CGROUP_V1, CGROUP_V2, available_cores
from tests.bench.held import is_held
from tests.conftest import ROOT

PACKAGES = ("torch", "transformers", "numpy", "pillow", "litestar", "msgspec", "uvicorn")


def describe_machine(num_threads: int) -> dict[str, Any]:
    """Everything as text or numbers, in the order of printing."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "commit": _commit(),
        "cpu": _cpu_model(),
        "cores": available_cores(),
        "cgroup_quota": _quota(),
        "threads": num_threads,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def load_average() -> float:
    """Processes that wanted to run during the last minute: what else the machine did."""
    path = Path("/proc/loadavg")
    return float(path.read_text().split()[0]) if path.exists() else 0.0


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, of all its threads, also of those that have ended. Source: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def _commit() -> str:
    def git(*arguments: str) -> str:
        ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return ended.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    return commit + (" and changes" if git("status", "--porcelain", "--untracked-files=no", "--", ":!docs") else "")


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    model = found.get("model name", platform.processor() or "unknown")
    wide = [name for name in ("avx2", "avx512f", "amx_bf16") if name in found.get("flags", "").split()]
    return f"{model} ({', '.join(wide)})" + (", held to AVX2" if is_held() else "") if wide else model


def _quota() -> str:
    for path in (CGROUP_V2, CGROUP_V1 / "cpu.cfs_quota_us"):
        if path.exists():
            quota = path.read_text().strip()
            return "none" if quota in ("-1", "max 100000") else quota
    return "none"
