"""Settings of the shared tiers that are refused before an engine is started."""

from pathlib import Path

import pytest

from service.front.serving.resources import check_shared_cache
from service.settings.settings import Settings, SettingsError

SECRET = "secret-word"


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{SECRET}@host",
        f"redis://user:{SECRET}@",
        f"redis://user:{SECRET}@host:99999",
        f"redis://user:{SECRET}@[::1",
        f"unix://user:{SECRET}@",
        SECRET,
        "",
    ],
)
def test_a_url_that_is_none_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match="--valkey-url") as refused:
        check_shared_cache(Settings(valkey_url=url))
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("scheme", ["valkey", "valkeys", "redis", "rediss"])
def test_a_server_needs_the_extra_that_speaks_to_it(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(valkey_url=f"{scheme}://user:{SECRET}@cache.example:6380/1")
    monkeypatch.setattr("service.front.serving.resources.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install -e '.\[valkey\]'"):
        check_shared_cache(settings)
    monkeypatch.setattr("service.front.serving.resources.find_spec", lambda name: name)
    check_shared_cache(settings)


def test_a_directory_is_made_or_refused(tmp_path: Path) -> None:
    check_shared_cache(Settings(disk_cache=str(tmp_path / "new" / "folder")))
    assert (tmp_path / "new" / "folder").is_dir()
    (tmp_path / "file").touch()
    for path in ("file", "file/below"):
        with pytest.raises(SettingsError, match="--disk-cache"):
            check_shared_cache(Settings(disk_cache=str(tmp_path / path)))


def test_nothing_is_looked_at_where_nothing_is_shared() -> None:
    check_shared_cache(Settings())
