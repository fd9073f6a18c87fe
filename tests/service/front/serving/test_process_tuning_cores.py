"""Core counts come from the container's quota and never from the host."""

from pathlib import Path

import pytest

from service.front.serving import process_tuning


@pytest.mark.parametrize(
    ("cpu_max", "want"), [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1), ("?", 8)]
)
def test_the_cgroup_quota_bounds_the_affinity(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cpu_max: str, want: int
) -> None:
    path = tmp_path / "cpu.max"
    path.write_text(cpu_max + "\n")
    monkeypatch.setattr(process_tuning, "CGROUP_V2", path)
    monkeypatch.setattr(process_tuning.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert process_tuning.available_cores() == want


def test_the_older_cgroup_is_read_where_there_is_no_new_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpu.cfs_quota_us").write_text("300000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(process_tuning, "CGROUP_V2", tmp_path / "absent")
    monkeypatch.setattr(process_tuning, "CGROUP_V1", tmp_path)
    monkeypatch.setattr(process_tuning.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert process_tuning.available_cores() == 3
